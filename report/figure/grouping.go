package figure

import (
	"fmt"
	"image/color"
)

// grouping is to which group each of some tokens belongs, with names and colours.
type grouping struct {
	of    []int // group of each token, from 0
	names []string
	given []color.Color // those that are nil or missing come from the names of brain networks, else from the palette
}

// mostGroups is beyond any grouping that colours can show.
const mostGroups = 100_000

func (g grouping) check() error {
	if err := checkTexts(g.names...); err != nil {
		return err
	}
	for i, k := range g.of {
		if k < 0 || k >= mostGroups {
			return fmt.Errorf("token %d is in group %d: groups count from 0 to %d", i, k, mostGroups-1)
		}
	}
	if n := g.count(); len(g.names) > 0 && len(g.names) < n {
		return fmt.Errorf("%d names for %d groups: give one each or none", len(g.names), n)
	}
	return nil
}

// count is how many groups there are at least: the largest number plus 1.
func (g grouping) count() (n int) {
	for _, k := range g.of {
		n = max(n, k+1)
	}
	return n
}

func (g grouping) colors() []color.NRGBA { return groupColors(g.count(), g.names, g.given) }

// legend names the groups that have tokens, in their order.
func (g grouping) legend() legend {
	if len(g.names) == 0 {
		return nil
	}
	used := make([]bool, g.count())
	for _, k := range g.of {
		used[k] = true
	}
	var l legend
	for k, col := range g.colors() {
		if used[k] {
			l = append(l, legendEntry{text: g.names[k], color: col})
		}
	}
	return l
}

// stretch is a run of neighbours of one group: tokens first to last-1.
type stretch struct{ group, first, last int }

func (g grouping) runs() []stretch {
	var runs []stretch
	for i, k := range g.of {
		if n := len(runs); n > 0 && runs[n-1].group == k {
			runs[n-1].last = i + 1
			continue
		}
		runs = append(runs, stretch{k, i, i + 1})
	}
	return runs
}
