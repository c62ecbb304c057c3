package partition

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/cifti"
)

// Tokens describes the tokens of a table.
type Tokens struct {
	Count     int
	File      string   // file of the table
	Names     []string // or nil
	NamesFrom string   // file of the names, if it is another one
	// Sides holds the hemispheres of vertices, L, R or empty; nil if unknown.
	Sides []string
	// Parcels is the CIFTI file whose parcels the tokens are (a ptseries.nii, or the dlabel.nii
	// that they were averaged in), or empty.
	Parcels string
}

// namesFile returns the file of the names.
func (t Tokens) namesFile() string {
	if t.NamesFrom != "" {
		return t.NamesFrom
	}
	return t.File
}

// hemispheres returns the order of hemispheres and a description of its source.
func (t Tokens) hemispheres() (Order, string) {
	if o := Hemispheres(t.Names); o != Unknown {
		return o, t.namesFile() + " lists hemispheres " + string(o) + " by its names"
	}
	o := Hemispheres(t.Sides)
	return o, t.File + " lists hemispheres " + string(o) + " by the vertices of its parcels"
}

// Matched is a partition of the tokens of a table.
type Matched struct {
	Labels  []int // [tokens], indices into Modules
	Modules []string
	// Names are those of the partition, for tokens that have none of their own; nil where the
	// partition does not name each of them.
	Names []string
	How   string // description of the match: by name, by vertices or by order
}

// Match finds the module of each token.
func (p *Partition) Match(t Tokens) (m *Matched, err error) {
	defer array.Catch(&err)
	switch {
	case p.surface != nil:
		return p.bySurface(t), nil
	case p.Names != nil && t.Names != nil:
		return p.byName(t), nil
	}
	return p.byOrder(t), nil
}

// Key returns the form of a name that is compared: lower case, without the suffix _ROI of Glasser's
// names, with numbers as plain digits, and in Unicode's form NFC, which early runs may not have.
func Key(name string) string {
	return strings.TrimSuffix(strings.ToLower(norm.NFC.String(arrayfile.PlainNumber(name))), "_roi")
}

// MatchNames returns the index in names of each token, each used once, and the tokens and names without a
// match. Names match if they are equal or, where some are not, if their [Key] is. Empty names match none.
func MatchNames(names, tokens []string) (from []int, missing, surplus []string) {
	for _, key := range []func(string) string{strings.TrimSpace, Key} {
		if from, missing, surplus = matchBy(key, names, tokens); missing == nil {
			break
		}
	}
	return from, missing, surplus
}

func matchBy(key func(string) string, names, tokens []string) (from []int, missing, surplus []string) {
	place, used := map[string]int{}, make([]bool, len(names))
	for i, name := range names {
		if _, twice := place[key(name)]; twice {
			place[key(name)] = -1
		} else {
			place[key(name)] = i
		}
	}
	place[""] = -1
	for _, name := range tokens {
		at, ok := place[key(name)]
		if !ok || at < 0 || used[at] {
			missing = append(missing, name)
			continue
		}
		from, used[at] = append(from, at), true
	}
	for i, name := range names {
		if !used[i] {
			surplus = append(surplus, name)
		}
	}
	return from, missing, surplus
}

func (p *Partition) byName(t Tokens) *Matched {
	var best struct {
		found   int
		missing []string
	}
	for _, names := range p.Names {
		if i, j, twice := arrayfile.Twice(names); twice {
			array.Failf("%s: its tokens %d and %d are both named %q", p.File, i, j, names[i])
		}
		from, missing, _ := MatchNames(names, t.Names)
		if len(missing) == 0 {
			labels := make([]int, len(from))
			for i, at := range from {
				labels[i] = p.Labels[at]
			}
			return p.matched(labels, fmt.Sprintf("by name: %s has the names of %s%s", p.File,
				t.namesFile(), spelledOtherwise(t.Names, names)))
		}
		if best.missing == nil || len(from) > best.found {
			best.found, best.missing = len(from), missing
		}
	}
	keys := make([]string, len(t.Names))
	for i, name := range t.Names {
		keys[i] = Key(name)
	}
	if i, j, twice := arrayfile.Twice(keys); twice {
		array.Failf("%s: its tokens %q and %q have the name of one parcel of %s: rename them",
			t.namesFile(), t.Names[i], t.Names[j], p.File)
	}
	shown := best.missing[:min(5, len(best.missing))]
	array.Failf("%s names %d of its %d tokens otherwise than %s, such as %q, which "+
		"names %q: give the partition of the parcels that the data has", t.namesFile(),
		len(best.missing), t.Count, p.File, shown, p.Names[0][:min(3, len(p.Names[0]))])
	return nil
}

// spelledOtherwise describes a token that the data and the partition spell differently, or returns
// "". The data's names are kept.
func spelledOtherwise(data, partition []string) string {
	for _, name := range data {
		if !slices.Contains(partition, name) {
			i := slices.IndexFunc(partition, func(other string) bool { return Key(other) == Key(name) })
			return fmt.Sprintf(", which are kept: some are spelled otherwise, such as %s for %s",
				partition[i], name)
		}
	}
	return ""
}

func (p *Partition) byOrder(t Tokens) *Matched {
	labels := p.Labels
	var own []string
	if p.Names != nil {
		own = p.Names[0]
	}
	how := "by order"
	if len(labels) != t.Count && t.Count == cortex && p.isCortexFirst() {
		labels, own = labels[:cortex], own[:cortex]
		how = "by order, with the first 360 of its 718 parcels, which are the cortex"
	}
	if len(labels) != t.Count {
		array.Failf("%s has %d tokens, %s labels %d: give the partition of the "+
			"parcels that the data has", t.File, t.Count, p.File, len(labels))
	}
	if counts, inOrder := arrayfile.Numbering(own); counts && !inOrder {
		array.Failf("%s numbers its tokens %s, ..., another order than 1, 2, 3, and %s has no "+
			"names of tokens: sort the lines, or give the data names", p.File,
			strings.Join(own[:min(3, len(own))], ", "), t.File)
	}
	order := p.Order
	if own != nil {
		order = Hemispheres(own)
	}
	known := order != "" && order != Unknown
	data, says := t.hemispheres()
	if known && data != Unknown && data != order {
		array.Failf("%s, %s lists them %s and has no names to match: give a partition "+
			"with names, such as CAB-NP's LabelKey, or a dlabel.nii", says, p.File, order)
	}
	switch {
	case t.Names == nil && known:
		how += fmt.Sprintf(": %s has no names, and is taken to list hemispheres %s as %s does",
			t.File, order, p.File)
	case t.Names == nil:
		how += fmt.Sprintf(": %s has no names", t.File)
	case known && data != Unknown:
		how += fmt.Sprintf(": %s has no names; %s, as it does", p.File, says)
	default:
		how += fmt.Sprintf(": %s has no names", p.File)
	}
	m := p.matched(labels, how)
	if t.Names == nil {
		m.Names = p.namesOf(t.Count)
	}
	return m
}

// namesOf returns the first kind of names that distinguishes the first n tokens, or nil. Numbers
// that count the tokens are not names.
func (p *Partition) namesOf(n int) []string {
	for _, names := range p.Names {
		distinct := map[string]bool{}
		for _, name := range names[:n] {
			distinct[Key(name)] = true
		}
		counts, _ := arrayfile.Numbering(names[:n])
		if len(distinct) == n && !distinct[""] && !counts {
			return names[:n]
		}
	}
	return nil
}

func (p *Partition) bySurface(t Tokens) *Matched {
	if t.Parcels == "" {
		array.Failf("%s labels vertices, but %s does not say which vertices its %d "+
			"tokens have: give the data as ptseries.nii, or the partition as text (CAB-NP's "+
			"LabelKey)", p.File, t.File, t.Count)
	}
	parcels := array.Got(cifti.Read(t.Parcels))
	names, labels, err := cifti.ParcelLabels(parcels, p.surface)
	array.Fail(err)
	if t.Names != nil { // of the parcels that the data keeps, in its order
		from, missing, _ := MatchNames(names, t.Names)
		if missing != nil {
			array.Failf("%s has no parcel %q, which is a token of %s", t.Parcels, missing[0], t.namesFile())
		}
		of := make([]string, t.Count)
		for i, parcel := range from {
			of[i] = labels[parcel]
		}
		labels = of
	}
	if len(labels) != t.Count {
		array.Failf("%s has %d parcels, not the %d tokens of %s", t.Parcels, len(labels), t.Count, t.File)
	}
	q := Partition{File: p.File}
	q.number(labels)
	how := fmt.Sprintf("by the vertices of each parcel of %s in %s", t.Parcels, p.File)
	if n := len(p.surface.Axes[0].Maps); n > 1 {
		how += fmt.Sprintf(", the first of its %d maps", n)
	}
	return q.matched(q.Labels, how)
}

// matched returns a Matched with the given labels, without modules that no token has.
func (p *Partition) matched(labels []int, how string) *Matched {
	m := &Matched{How: how}
	place, has := make([]int, len(p.Modules)), make([]bool, len(p.Modules))
	for _, l := range labels {
		has[l] = true
	}
	for i, name := range p.Modules {
		if place[i] = -1; has[i] {
			place[i] = len(m.Modules)
			m.Modules = append(m.Modules, name)
		}
	}
	for _, l := range labels {
		m.Labels = append(m.Labels, place[l])
	}
	return m
}
