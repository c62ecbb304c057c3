package analysis

import (
	"errors"
	"fmt"
	"slices"

	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// moduleSet assigns a model's tokens to modules.
type moduleSet struct {
	Labels []int // [tokens], indices into Names
	Names  []string
	From   string // where they come from, in words
}

// Values of --modules for tokens on a grid.
const (
	byRows    = "rows"
	byColumns = "columns"
)

// errNoModules is returned if nothing assigns the tokens to modules.
var errNoModules = errors.New("no modules are known: give --modules FILE, or --modules rows or " +
	"columns for tokens of a square grid")

// modules returns the modules of a model's tokens: from a file (see package partition), or the rows or
// columns of the tokens' grid, or, if source is empty, those that a run
// of masked prediction keeps with its probes.
func (m *Model) modules(source string, header text.Choice) (moduleSet, error) {
	all, err := m.allModules(source, header)
	if err != nil {
		return all, fmt.Errorf("%s: %w", m.Source, err)
	}
	all.Labels = all.Labels[m.from : m.from+m.Tables[0].Tokens]
	if !slices.ContainsFunc(all.Labels, func(l int) bool { return l != all.Labels[0] }) {
		return all, fmt.Errorf("%s: all %d tokens are in module %s: want at least two modules",
			m.Source, len(all.Labels), all.Names[all.Labels[0]])
	}
	return all, nil
}

func (m *Model) allModules(source string, header text.Choice) (moduleSet, error) {
	switch source {
	case "":
		return m.ownModules()
	case byRows, byColumns:
		return m.gridModules(source)
	}
	p, err := partition.Read(source, header)
	if err != nil {
		return moduleSet{}, err
	}
	matched, err := p.Match(partition.Tokens{Count: m.tokens, Names: m.all, File: m.Source})
	if err != nil {
		return moduleSet{}, err
	}
	if m.all == nil { // a file of coordinates is matched to the same tokens
		m.all = matched.Names
	}
	return moduleSet{Labels: matched.Labels, Names: matched.Modules, From: source + ", " + matched.How}, nil
}

// ownModules returns the modules that a run keeps.
func (m *Model) ownModules() (moduleSet, error) {
	if !m.isRun() {
		return moduleSet{}, errNoModules
	}
	labels, ok, err := m.probes.Modules()
	if err != nil {
		return moduleSet{}, err
	}
	if !ok {
		return moduleSet{}, errNoModules
	}
	if len(labels) != m.tokens {
		return moduleSet{}, fmt.Errorf("probes.safetensors has the modules of %d tokens, and "+
			"tables of %d", len(labels), m.tokens)
	}
	return moduleSet{Labels: labels, Names: m.probes.Text("module_names"), From: ofRun}.withNames(), nil
}

// withNames names the modules by their numbers if names are missing.
func (m moduleSet) withNames() moduleSet {
	low, high := slices.Min(m.Labels), slices.Max(m.Labels)
	if low >= 0 && high < len(m.Names) {
		return m
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(m.Labels)))
	m.Names = nil
	for _, l := range distinct {
		m.Names = append(m.Names, fmt.Sprint(l))
	}
	labels := make([]int, len(m.Labels))
	for i, l := range m.Labels {
		labels[i], _ = slices.BinarySearch(distinct, l)
	}
	m.Labels = labels
	return m
}

// gridModules returns the rows or columns of the tokens' grid.
func (m *Model) gridModules(which string) (moduleSet, error) {
	cells, from, err := m.grid()
	if err != nil {
		return moduleSet{}, err
	}
	axis := slices.Index([]string{byRows, byColumns}, which)
	out := moduleSet{From: which + " of " + from}
	for _, cell := range cells {
		out.Labels = append(out.Labels, int(cell[axis]))
	}
	for i := range slices.Max(out.Labels) + 1 {
		out.Names = append(out.Names, fmt.Sprintf("%s%d", which[:len(which)-1], i+1))
	}
	return out, nil
}

// count returns how many modules the tokens are in.
func (m moduleSet) count() int {
	seen := map[int]bool{}
	for _, l := range m.Labels {
		seen[l] = true
	}
	return len(seen)
}

// ofRun is the From of modules that a run keeps.
const ofRun = "the run"
