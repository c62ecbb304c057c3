package figure

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/vg"
)

// grouping assigns tokens to named, coloured groups.
type grouping struct {
	of    []int // group of each token, from 0
	names []string
}

func (g grouping) check() error {
	for i, k := range g.of {
		if k < 0 {
			return fmt.Errorf("token %d is in group %d: groups count from 0", i, k)
		}
	}
	if n := g.count(); len(g.names) > 0 && len(g.names) < n {
		return fmt.Errorf("%d names for %d groups: give one each or none", len(g.names), n)
	}
	return nil
}

// count returns the number of groups, with or without tokens: the largest group plus 1.
func (g grouping) count() (n int) {
	for _, k := range g.of {
		n = max(n, k+1)
	}
	return n
}

func (g grouping) colors() []color.NRGBA { return GroupColors(g.count(), g.names) }

// legend returns the names of the groups that have tokens, in order. It shortens names to a third of the
// width of the panel and reports whether it shortened any.
func (g grouping) legend(panel vg.Length) (l legend, shortened bool) {
	if len(g.names) == 0 {
		return nil, false
	}
	names, shortened := smallText.shorten(g.names, panel/3-swatch-swatchGap)
	used := make([]bool, g.count())
	for _, k := range g.of {
		used[k] = true
	}
	for k, col := range g.colors() {
		if used[k] {
			l = append(l, legendEntry{text: names[k], color: col})
		}
	}
	return l, shortened
}

// stretch is a run of neighbouring tokens of one group, first to last-1.
type stretch struct{ group, first, last int }

// runs splits the tokens into stretches of one group.
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
