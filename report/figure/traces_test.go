package figure

import (
	"math"
	"strings"
	"testing"

	"torchpe/report/internal/viewer"
)

// waves are series of nodes in two groups.
func waves(nodes, frames int) Traces {
	s := Traces{XLabel: "time point", Names: numbered(nodes)}
	for i := range nodes {
		s.Groups = append(s.Groups, 2*i/nodes)
	}
	for f := range frames {
		for i := range nodes {
			s.Values = append(s.Values, float32(math.Sin(float64(f)/5+3*float64(s.Groups[i]))))
		}
	}
	return s
}

func TestTraces(t *testing.T) {
	still := waves(4, 10)
	clear(still.Values)
	for _, s := range []Traces{waves(1, 50), waves(15, 50), waves(360, 50), still} {
		f := mustCompose(t, alone(s, ColumnWidth, 3))
		checkSVG(t, "traces", encode(t, f, "svg"))
		text := viewer.Poppler(t, encode(t, f, "pdf"), "pdftotext", "-layout", viewer.PDF, "-")
		if n := strings.Count(text, "name "); n != min(len(s.Names), maxTraces) || !strings.Contains(text,
			"time point") {
			t.Errorf("%d nodes: %d are named:\n%s", len(s.Names), n, text)
		}
	}
}
