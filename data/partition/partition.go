// Package partition reads the module (network, sector, pathway) of each token and matches a partition to
// the tokens of a table. It matches by the vertices of parcels if the partition is a CIFTI label file,
// by name if both have names, else by order.
//
// Invariants: every token gets a label, or there is an error. Tokens are matched by order only if their
// numbers agree, and if hemispheres in names agree with the known order of the partition.
package partition

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/cifti"
	"torchpe/data/array/text"
)

// Partition is a list of labelled tokens, or a map of labels on the surface of the brain.
type Partition struct {
	File    string
	Labels  []int      // [tokens], indices into Modules; nil for a map of the surface
	Modules []string   // names of the modules
	Names   [][]string // [kinds of names][tokens]; empty for tokens without names
	Order   Order      // order of hemispheres, if it is known without names

	surface *cifti.Image
}

// Read reads a partition from FILE or FILE:NAME. The file may be CAB-NP's LabelKey, a text with a label, or
// a name and a label, per line, a dlabel.nii whose labels are modules, or a vector of integers in
// another format that package arrayfile reads. header says whether the first line of text holds names
// of columns.
func Read(reference string, header text.Choice) (p *Partition, err error) {
	defer array.Catch(&err)
	file, _, err := arrayfile.Split(reference)
	switch {
	case err != nil:
		return nil, err
	case cifti.HasExtension(file):
		return readSurface(file), nil
	case !array.Got(arrayfile.IsText(file)):
		return readVector(reference), nil
	}
	var rows [][]string
	for row, err := range text.Words(file) {
		array.Fail(err)
		rows = append(rows, row)
	}
	isPlain := len(rows[0]) == 2 && rows[0][1] == "NETWORK" && !slices.Contains(keyNames, rows[0][0])
	if i := slices.Index(rows[0], "NETWORK"); i >= 0 && !isPlain && header != text.No {
		return labelKey(file, rows, i), nil
	}
	return plain(file, rows, header), nil
}

// keyNames are the columns of names of CAB-NP's LabelKey, which has one or both.
var keyNames = []string{"GLASSERLABELNAME", "LABEL"}

// labelKey reads the rows of CAB-NP's LabelKey. network is the index of the column of networks.
func labelKey(name string, rows [][]string, network int) *Partition {
	header, rows := rows[0], rows[1:]
	p := &Partition{File: name}
	var nameColumns []int
	for _, column := range keyNames {
		if i := slices.Index(header, column); i >= 0 {
			nameColumns = append(nameColumns, i)
			p.Names = append(p.Names, nil)
		}
	}
	if len(nameColumns) == 0 {
		array.Failf("%s: it has a column NETWORK, but none of GLASSERLABELNAME and LABEL", name)
	}
	var labels []string
	for i, row := range rows {
		if len(row) <= network {
			array.Failf("%s: row %d has %d cells, but the header %d", name, i+1, len(row), len(header))
		}
		labels = append(labels, row[network])
		for k, column := range nameColumns {
			cell := ""
			if column < len(row) && row[column] != "NA" { // the subcortex has no Glasser names
				cell = row[column]
			}
			p.Names[k] = append(p.Names[k], cell)
		}
	}
	if len(labels) == 0 {
		array.Failf("%s: it has a header and no rows", name)
	}
	p.number(labels)
	return p
}

// plain reads rows of one label, or of a name and a label.
func plain(name string, rows [][]string, header text.Choice) *Partition {
	width := len(rows[0])
	if width > 2 {
		array.Failf("%s: its first line has %d cells; a line holds a label, or a name "+
			"and a label (CAB-NP's LabelKey has a header with NETWORK)", name, width)
	}
	if header == text.Yes || header == text.Auto && isHeader(rows, width) {
		if rows = rows[1:]; len(rows) == 0 {
			array.Failf("%s: it has a header and no rows", name)
		}
	}
	p := &Partition{File: name}
	var names, labels []string
	for i, row := range rows {
		if len(row) != width {
			array.Failf("%s: line %d has %d cells, but the first %d", name, i+1, len(row), width)
		}
		labels = append(labels, row[width-1])
		if width == 2 {
			names = append(names, row[0])
		}
	}
	if width == 2 {
		p.Names = [][]string{names}
		checkColumns(name, names, labels)
	}
	p.number(labels)
	p.recognise()
	return p
}

// heading matches what a column of labels is headed by.
var heading = regexp.MustCompile(`(?i)^(networks?|modules?|labels?|community|communities|sectors?|groups?|clusters?` +
	`|systems?)([ _.]?(name|id|label|no)s?)?$`)

// IsHeading reports whether a column with this heading holds labels of modules.
func IsHeading(text string) bool { return heading.MatchString(text) }

// isHeader reports whether the first row is a header: a word above numeric labels, a word that heads labels and is
// none of those below, a heading of names, or an empty cell above names, as pandas writes it.
func isHeader(rows [][]string, width int) bool {
	if len(rows) < 2 {
		return false
	}
	isWord := func(row []string) bool {
		_, err := text.Number(row[len(row)-1])
		return err != nil
	}
	if isWord(rows[0]) && !slices.ContainsFunc(rows[1:], isWord) {
		return true
	}
	last := rows[0][len(rows[0])-1]
	isLast := func(row []string) bool { return row[len(row)-1] == last }
	if heading.MatchString(last) && !slices.ContainsFunc(rows[1:], isLast) {
		return true
	}
	return width == 2 && (rows[0][0] == "" || text.IsID(rows[0][0]))
}

// checkColumns refuses a file in which modules seem to come before the names of their tokens, or a name is
// given twice.
func checkColumns(file string, names, labels []string) {
	repeated := func(all []string) bool {
		return len(slices.Compact(slices.Sorted(slices.Values(all)))) < len(all)
	}
	if repeated(names) && !repeated(labels) {
		array.Failf("%s: its first column repeats values (%s, ...), but its second does not (%s, ...): "+
			"put the name of a token first, and its module second", file, names[0], labels[0])
	}
	if i, j, twice := arrayfile.Twice(names); twice {
		array.Failf("%s: its rows %d and %d are both named %q: the first column holds names of tokens, the second "+
			"modules; leave out the names if rows are in the order of the tokens", file, i+1, j+1, names[i])
	}
}

// number sets Modules and Labels from labels. Modules are sorted if they are numbers, else in order of
// appearance.
func (p *Partition) number(labels []string) {
	p.Modules, p.Labels = nil, make([]int, len(labels))
	place, values := map[string]int{}, map[string]float64{}
	for i, l := range labels {
		v, err := text.Number(l)
		if err == nil && math.IsNaN(v) || text.IsAbsent(l) {
			array.Failf("%s: token %d of %d has no label (%q): give it a module, such as "+
				"none, or leave it out here and in the data", p.File, i+1, len(labels), l)
		}
		l = arrayfile.PlainNumber(l)
		if _, seen := place[l]; !seen {
			place[l] = 0
			p.Modules = append(p.Modules, l)
			if err == nil {
				values[l] = v
			}
		}
		labels[i] = l
	}
	if len(values) == len(p.Modules) {
		for _, m := range p.Modules {
			if v := values[m]; v != math.Trunc(v) || math.IsInf(v, 0) {
				array.Failf("%s: token %d has the label %s: labels are whole numbers or words",
					p.File, slices.Index(labels, m)+1, m)
			}
		}
		slices.SortFunc(p.Modules, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	}
	for i, m := range p.Modules {
		place[m] = i
	}
	for i, l := range labels {
		p.Labels[i] = place[l]
	}
}

// CABNP lists the networks of the cortex in the Cole-Anticevic partition (Ji et al. 2019, NeuroImage
// 185:35-57) by key, with the numbers of their parcels in the left and the right hemisphere.
var CABNP = []struct {
	Name, Abbreviation string
	Left, Right        int
}{
	{"Visual1", "VIS1", 3, 3}, {"Visual2", "VIS2", 27, 27}, {"Somatomotor", "SMN", 19, 20},
	{"Cingulo-Opercular", "CON", 27, 29},
	{"Dorsal-Attention", "DAN", 12, 11}, {"Language", "LAN", 14, 9},
	{"Frontoparietal", "FPN", 22, 28}, {"Auditory", "AUD", 8, 7},
	{"Default", "DMN", 40, 37}, {"Posterior-Multimodal", "PMM", 3, 4},
	{"Ventral-Multimodal", "VMM", 2, 2}, {"Orbito-Affective", "ORA", 3, 3},
}

// recognise detects CAB-NP's list of numbers without names by the sizes of its networks in each half. It
// then sets the names of the networks and the order of hemispheres.
func (p *Partition) recognise() {
	if len(p.Labels) != 360 || len(p.Modules) != len(CABNP) || p.Names != nil {
		return
	}
	var left, right [12]int
	for i, l := range p.Labels {
		if i < 180 {
			left[l]++
		} else {
			right[l]++
		}
	}
	for k, n := range CABNP {
		if p.Modules[k] != strconv.Itoa(k+1) || left[k] != n.Left || right[k] != n.Right {
			return
		}
	}
	for k, n := range CABNP {
		p.Modules[k] = n.Name
	}
	p.Order = LeftFirst
}

// cortex is the number of cortical parcels of CAB-NP, which are the first of its 718 parcels.
const cortex = 360

// isCortexFirst reports whether p is CAB-NP with the subcortex.
func (p *Partition) isCortexFirst() bool {
	return len(p.Labels) == 718 && p.Names != nil && Hemispheres(p.Names[0][:cortex]) == LeftFirst
}

// Counts returns the numbers of tokens that the partition can match by order: the number of its labels
// and, for CAB-NP with the subcortex, that of the cortex. It returns none for a map of the surface.
func (p *Partition) Counts() []int {
	switch {
	case p.Labels == nil:
		return nil
	case p.isCortexFirst():
		return []int{len(p.Labels), cortex}
	}
	return []int{len(p.Labels)}
}

// readVector reads a vector of integers.
func readVector(reference string) *Partition {
	a := array.Got(arrayfile.Read(reference, text.Auto, func(shape []int) error {
		if long := slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 }); len(long) != 1 {
			return fmt.Errorf("shape %v: a partition is one vector of whole numbers", shape)
		}
		return nil
	}))
	labels := make([]string, len(a.Data))
	for i, v := range a.Data {
		labels[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	p := &Partition{File: a.Source}
	p.number(labels)
	p.recognise()
	return p
}

// readSurface reads a dlabel.nii.
func readSurface(path string) *Partition {
	image := array.Got(cifti.Read(path))
	if image.Kind != cifti.Dlabel {
		array.Failf("%s: a CIFTI file of kind %s; a partition is a dlabel.nii", path, image.Kind)
	}
	return &Partition{File: path, surface: image}
}
