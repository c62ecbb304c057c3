package train

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/train/runlog"
)

// firstRecords returns the first record of each member after few steps that change next to nothing.
func firstRecords(t *testing.T, c Config) (dir string, records []runlog.Record) {
	t.Helper()
	for m := range c.Members {
		c.Members[m].LR = 1e-12
	}
	c.LimitSteps, c.Noise = 2, nil
	dir, _ = runTiny(t, c)
	if records = recordsOf(t, dir); len(records) != len(c.Members) {
		t.Fatalf("%d records", len(records))
	}
	return dir, records
}

// A learned PE starts as N(0, sigma^2): its norm is sigma sqrt(N D), with a relative standard error
// of 1/sqrt(2 N D), over sqrt(L) for the mean of L blocks. Its rank is that of the tables in the
// probes.
func TestCourseOfALearnedPE(t *testing.T) {
	lst, masked := tiny(t, "learn"), tinyMasked(t, "learn")
	for _, c := range []struct {
		config Config
		tokens float64
		blocks float64
		place  string
	}{{lst, 16, 2, "block"}, {lst, 16, 1, "input"}, {masked, 15, 2, "block"}} {
		c.config.PEOptions = map[string]string{"pe-placement": c.place}
		dir, records := firstRecords(t, c.config)
		f := expect.Must(safetensors.Read(filepath.Join(dir, "probes.safetensors")))
		for m, r := range records {
			size := c.tokens * float64(c.config.DModel)
			want := *c.config.Members[m].Sigma * math.Sqrt(size)
			if math.IsNaN(r.Measures.Get("pe_norm")) ||
				math.Abs(r.Measures["pe_norm"]/want-1) > 4/math.Sqrt(2*size*c.blocks) {
				t.Errorf("%s, member %d: norm %v, want about %g", c.config.Task, m, r.Measures["pe_norm"], want)
				continue
			}
			rank := 0.0
			for layer := range int(c.blocks) {
				x, _ := f.Tensor([]string{"pe/0", "pe/1"}[layer])
				values := expect.Must(x.Float64s())
				own := metrics.Table{Tokens: int(c.tokens), Dim: c.config.DModel,
					Values: values[m*int(size) : (m+1)*int(size)]}
				rank += expect.Must(own.EffectiveRank()) / c.blocks
			}
			if math.IsNaN(r.Measures.Get("pe_effective_rank")) ||
				math.Abs(r.Measures["pe_effective_rank"]-rank) > 1e-9 {
				t.Errorf("%s, member %d: rank %v, of the probes %g", c.config.Task, m,
					r.Measures["pe_effective_rank"], rank)
			}
		}
	}
}

// Fixed tables have a course that stays: the sinusoids' norm is sqrt(N D / 2), as sin^2 + cos^2 =
// 1. Schemes without a table have none, nor has one that is drawn for each batch; zeros have no
// rank.
func TestCourseOfOtherPEs(t *testing.T) {
	for _, pe := range []string{"1d-fixed", "2d-fixed"} {
		_, records := firstRecords(t, tiny(t, pe))
		for m, r := range records {
			if want := math.Sqrt(16 * 16 / 2); math.IsNaN(r.Measures.Get("pe_norm")) ||
				math.Abs(r.Measures["pe_norm"]-want) > 1e-4 ||
				math.IsNaN(r.Measures.Get("pe_effective_rank")) {
				t.Errorf("%s, member %d: norm %v, want %g", pe, m, r.Measures["pe_norm"], want)
			}
		}
	}
	for pe, options := range map[string]map[string]string{"relative": nil, "rope": nil, "nope": nil,
		"c-nope": nil, "random": {"random": "ruoss"}} {
		c := tiny(t, pe)
		c.PEOptions = options
		_, records := firstRecords(t, c)
		for m, r := range records {
			if !math.IsNaN(r.Measures.Get("pe_norm")) || !math.IsNaN(r.Measures.Get("pe_effective_rank")) {
				t.Errorf("%s, member %d: norm %v, rank %v", pe, m, r.Measures["pe_norm"],
					r.Measures["pe_effective_rank"])
			}
		}
	}
	for name, table := range map[string][]float64{"zeros": make([]float64, 6),
		"not finite": {1, math.NaN(), 0, 0, 0, math.Inf(1)}} {
		p := peTables{blocks: [][][]float64{{table}, {{1, 0, 0, 0, 1, 0}}}, tokens: 2, width: 3}
		got := runlog.Numbers{}
		p.addNormAndRank(0, got)
		norm, rank := got.Get("pe_norm"), got.Get("pe_effective_rank")
		if isFinite(rank) || isFinite(norm) != (name == "zeros") {
			t.Errorf("%s: norm %v, rank %v", name, norm, rank)
		}
	}
	p := peTables{blocks: [][][]float64{{{3, 0, 0, 0, 3, 0}}, {{4, 0, 0, 0, 0, 0}}}, tokens: 2, width: 3}
	got := runlog.Numbers{}
	p.addNormAndRank(0, got)
	if math.Abs(got["pe_norm"]-(math.Sqrt(18)+4)/2) > 1e-12 || math.Abs(got["pe_effective_rank"]-1.5) > 1e-12 {
		t.Errorf("%v; want (sqrt 18 + 4)/2 and (2 + 1)/2", got)
	}
}

// Measures of a block have the number of the block, also if the first ones have no table.
func TestMeasuresHaveTheBlockOfTheirTable(t *testing.T) {
	c := tiny(t, "nope@1,learn@2")
	c.Epochs = 1
	_, result := runTiny(t, c)
	m := result.Members[0].Measures
	for _, family := range []string{"pe_moved", "pe_start_cosine"} {
		if of := m.Of(family); len(of) != 1 || math.IsNaN(of.Get("1")) {
			t.Errorf("%s: %v", family, m.Keys())
		}
	}
}

// Only the rows that training uses are measured: those of the probes.
func TestMeasuresOfTrainedRows(t *testing.T) {
	c := tinyText(t, "learn")
	c.Sequence.Places = 4 * c.Sequence.TrainLength
	dir, result := runTiny(t, c)
	shape, table := probed(t, dir, "pe/0")
	each := len(table) / shape[0]
	for m, of := range result.Members {
		expect.Near(t, fmt.Sprintf("norm of %d rows", shape[1]), of.Measures["pe_norm"],
			frobenius(table[m*each:(m+1)*each]), 1e-5)
	}
}
