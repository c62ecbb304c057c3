package hcp

import (
	"cmp"
	"fmt"
	"strings"

	"torchpe/internal/wording"
)

// Text writes a report as lines, with its networks in an order; nil where there are none.
func (r Report) Text(networks []string) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-24s %s\n", name, text) }
	line("subjects", fmt.Sprint(r.Subjects))
	line("runs", fmt.Sprint(r.Runs))
	line("frames", fmt.Sprint(r.Frames))
	line("tokens", fmt.Sprint(r.Tokens))
	line("names", cmp.Or(r.NamesFrom, "none"))
	line("hemispheres", r.HemisphereOrder)
	line("SD of a token in a run", fmt.Sprintf("%.3g to %.3g", r.SD[0], r.SD[1]))
	if networks != nil {
		var sizes []string
		for _, name := range networks {
			sizes = append(sizes, fmt.Sprintf("%s (%s)", name, wording.Count(r.Networks[name], "token")))
		}
		line("networks", fmt.Sprintf("%d: %s", len(sizes), strings.Join(sizes, ", ")))
		line("matched", r.NetworksFrom)
		modularity := "unknown: no two tokens correlate"
		if r.Modularity != nil {
			modularity = fmt.Sprintf("%.4f of the mean correlations", *r.Modularity)
		}
		line("modularity", modularity)
	}
	for _, n := range r.Notes {
		line("note", n)
	}
	return b.String()
}
