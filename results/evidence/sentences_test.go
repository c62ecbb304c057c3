package evidence_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/internal/stats"
)

// TestSentences recomputes the numbers of sentences that the page has in words and that no table of it shows.
func TestSentences(t *testing.T) {
	m := readModels(t)
	page := strings.Join(strings.Fields(string(expect.Must(os.ReadFile("README.md")))), " ")
	says := func(format string, args ...any) {
		t.Helper()
		if text := fmt.Sprintf(format, args...); !strings.Contains(page, text) {
			t.Errorf("README.md does not say %q", text)
		}
	}
	sorted := func(name, measure string) []float64 { return slices.Sorted(slices.Values(m.column(name, measure))) }
	ends := func(x []float64) string { return point(slices.Min(x)) + " to " + point(slices.Max(x)) }
	two := func(v float64) string { return number.Bare(v, 2) }
	// without returns the seeds beyond the first five, which were trained after a look at these.
	without := func(of seeds) seeds {
		of = maps.Clone(of)
		for _, seed := range strings.Fields("2235 6312 6068 9742 8880") {
			delete(of, seed)
		}
		return of
	}

	large := sorted("learn-2", "validation")
	says("fourteen of fifteen models are below the counts on validation puzzles, at %s", ends(large[:14]))
	says("seed 8643, has %s on IID and %s on validation puzzles", point(m["learn-2"]["8643"].number("iid")),
		point(large[14]))
	says("At σ = 1.5 models spread from %s", ends(m.column("learn-1.5", "validation")))
	says("but reaches only %s in training", ends(m.column("c-nope", "train")))
	unfitted := func(name string) (train []float64) {
		for _, r := range m[name] {
			if r["fitted"] == "no" {
				train = append(train, r.number("train"))
			}
		}
		return slices.Sorted(slices.Values(train))
	}
	both := unfitted("2d-fixed")
	says("(training %s and %s) have not fitted after 400 epochs", point(both[0]), point(both[1]))
	says("two of five have not fitted (training %s both)", point(unfitted(decayed("2d-fixed"))[0]))
	alike := m.less(decayed("2d-fixed"), decayed("learn-0.2")).seedsPuzzles
	says("With decay, learn-0.2 and 2d-fixed differ by at most %s (95 %%", point(max(-alike.Low, alike.High)))
	says("one of them reaches only %s.", point(sorted(decayed("learn-1"), "validation")[0]))
	long := m["learn-0.2, 400 epochs"]
	says("%s after 400 epochs, against %s with dropout (the same five seeds)", point(long.mean("validation")),
		point(m["learn-0.2 with dropout"].in(long).mean("validation")))

	alignment := func(sigma string) []float64 { return values(bySigma()[sigma], "tangent_alignment") }
	paired := expect.Must(stats.PairedT(alignment("0.2"), alignment("2")))
	says("alignment is %s at 0.2 and %s at 2, after more than five times as many epochs (p = %s)",
		two(stats.Mean(alignment("0.2"))), two(stats.Mean(alignment("2"))), two(paired.P))

	most := [5]float64{}
	for _, seed := range m["learn-1"].ordered() {
		for block := 1; block <= 4; block++ {
			key := fmt.Sprintf("ratio_block_%d", block)
			d := m["learn-1"][seed].number(key) - m["learn-1, shared"][seed].number(key)
			most[block] = max(most[block], d, -d)
		}
	}
	says("they differ by at most %s at the first block and %s at the others", number.Fixed(most[1], 2),
		number.Fixed(slices.Max(most[2:]), 2))
	later := less(without(m["learn-1, shared"]), m["learn-1"])
	says("the ten alone give %s (%s)", point(later.mean), span(later.seeds))
	scaled := sorted("learn-2, tokens x 20", "validation")
	says("two of five seeds have %s and %s, the others %s", point(scaled[3]), point(scaled[4]), ends(scaled[:3]))
	later = less(without(m[withSGD("learn-0.01")]), m["learn-0.01"])
	says("the ten alone give %s (%s)", point(later.mean), span(later.seeds))

	q := masked("nmar.csv", "modularity", "50000")
	says("Q of learn-0.1 is %s, above all", ends(q["learn-0.1"]))
	says("learn-0.2 has less, %s", ends(q["learn-0.2"]))
	says("learn-1 has %s (p", ends(q["learn-1"]))
	says("learn-2 %s (p", ends(q["learn-2"]))
	less15 := func(measure string) (each []float64) {
		by := masked("nmar.csv", measure, "50000")
		for i, v := range by["learn-0.1"] {
			each = append(each, v-by["learn-2"][i])
		}
		return each
	}
	ahead := less15("modularity")
	says("learn-0.1 is ahead of learn-2 by %s (%s, five pairs)", point(stats.Mean(ahead)),
		span(expect.Must(stats.MeanInterval(ahead, .95))))
	says("the two alone give %s and %s", point(ahead[3]), point(ahead[4]))
	five := func(v float64) string { return number.Bare(v, 5) }
	of := expect.Must(stats.MeanInterval(less15("test_mse_50"), .95))
	says("errors at 0.1 less 2: %s, %s to %s", five(stats.Mean(less15("test_mse_50"))), five(of.Low), five(of.High))
	of = expect.Must(stats.MeanInterval(less15("test_mse_15"), .95))
	says("(by %s, %s to %s, p < .001, not corrected)", number.Bare(stats.Mean(less15("test_mse_15")), 4),
		number.Bare(of.Low, 4), number.Bare(of.High, 4))

	fmri := masked("fmri.csv", "modularity", "12000")
	says("(Q is %s at σ = 0.1 and 0.2, %s at σ = 1 and %s at σ = 2;", ends(slices.Concat(fmri["learn-0.1"],
		fmri["learn-0.2"])), ends(fmri["learn-1"]), ends(fmri["learn-2"]))
}
