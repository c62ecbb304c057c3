package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Tokens of a line whose correlations fall with their distance come back in its order, by both
// methods, and what is held out changes nothing.
func TestFindPositions(t *testing.T) {
	for _, init := range []string{"mds:1", "gradients:1"} {
		found := func(heldOut float64) TokenPositions {
			c := lineOfTokens(t, heldOut)
			c.PE, c.PEInit = "learn", init
			return expect.Must(FindPositions(c))
		}
		p := found(1)
		if p.Names[3] != "t3" || !strings.Contains(p.Note, "training frames") || strings.Contains(p.Note, "start") ||
			strings.HasPrefix(init, "gradients") && !strings.Contains(p.Note, "sparsity 0.5 (0.9 leaves") {
			t.Errorf("%s: %q, %q", init, p.Names, p.Note)
		}
		var xy, xx, yy float64 // about their means
		for i, at := range p.Coordinates {
			x, y := float64(i-4), at[0]
			xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
		}
		if r := math.Abs(xy / math.Sqrt(xx*yy)); r < 0.9 {
			t.Errorf("%s: r = %g with the order on the line: %v", init, r, p.Coordinates)
		}
		other := found(-7)
		for i, at := range other.Coordinates {
			expect.Equal(t, init, at[0], p.Coordinates[i][0])
		}
	}
	c := tiny(t, "learn")
	c.PEInit = "mds"
	expect.Error(t, expect.ErrorOf(FindPositions(c)), "masked prediction")
}

// Tokens of a line are joined with their neighbours, by names that --positions reads, and what is held out changes
// nothing.
func TestFindGraph(t *testing.T) {
	c := lineOfTokens(t, 1)
	c.PE, c.PEInit, c.PEInitSparsity = "learn", "gradients", new(0.8) // of nine tokens, two others
	g := expect.Must(FindGraph(c))
	var csv strings.Builder
	if err := g.WriteCSV(&csv); err != nil {
		t.Fatal(err)
	}
	const want = "from,to\nt0,t1\nt0,t2\nt1,t2\nt2,t3\nt3,t4\nt4,t5\nt5,t6\nt6,t7\nt6,t8\nt7,t8\n"
	expect.Equal(t, "edges", csv.String(), want)
	expect.Contains(t, g.Note, "2 largest correlations", "training frames")
	c = lineOfTokens(t, -7)
	c.PE, c.PEInit, c.PEInitSparsity = "learn", "gradients", new(0.8)
	expect.Equal(t, "edges", fmt.Sprint(expect.Must(FindGraph(c)).Edges), fmt.Sprint(g.Edges))

	c.PEInitSparsity = new(0.95)
	expect.Error(t, expect.ErrorOf(FindGraph(c)), "with 0 others", "--pe-init-sparsity")
	expect.Error(t, expect.ErrorOf(FindGraph(tiny(t, "learn"))), "masked prediction")
}

// lineOfTokens returns a configuration of nine tokens t0 to t8 of which neighbours correlate by 0.8.
// The held-out end of the series is multiplied by a number.
func lineOfTokens(t *testing.T, heldOut float64) Config {
	t.Helper()
	const frames, tokens = 1000, 9
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for i := range tokens {
		fmt.Fprintf(&text, "%st%d", map[bool]string{true: ","}[i > 0], i)
	}
	for frame := range frames {
		x := r.NormFloat64()
		for i := range tokens {
			shown := x
			if frame >= frames*7/10 {
				shown *= heldOut * float64(i)
			}
			fmt.Fprintf(&text, "%s%.6f", map[bool]string{true: ",", false: "\n"}[i > 0], shown)
			x = 0.8*x + 0.6*r.NormFloat64()
		}
	}
	c, _ := tinyFiles(t, map[string]string{"line.csv": text.String() + "\n"})
	c.Masked.Split, c.Masked.ZScore = "time", false
	return c
}
