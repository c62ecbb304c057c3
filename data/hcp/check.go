package hcp

import (
	"fmt"
	"math"

	"torchpe/data/series"
	"torchpe/internal/metrics"
)

// Report describes a data set as training would read it.
type Report struct {
	Subjects        int        `json:"subjects"`
	Runs            int        `json:"runs"`
	Frames          int        `json:"frames"`
	Tokens          int        `json:"tokens"`
	NamesFrom       string     `json:"names_from"` // empty where no file has names
	HemisphereOrder string     `json:"hemisphere_order"`
	SD              [2]float64 `json:"sd"` // smallest and largest of a token in a run
	// Constant counts the tokens that do not vary within a run. Training on them is an error, except
	// with --zscore=false.
	Constant     int            `json:"constant"`
	Networks     map[string]int `json:"networks"` // tokens of each
	NetworksFrom string         `json:"networks_from"`
	// Modularity is the modularity of the mean correlations, with negative ones set to 0. It is nil
	// without networks and where no two tokens correlate.
	Modularity *float64 `json:"modularity"`
	Notes      []string `json:"notes"`
}

// Check describes a data set that was read without z-scoring. For comparison, resting-state fMRI in the
// Cole-Anticevic networks has a modularity of .11.
func Check(d *series.Dataset) (Report, error) {
	r := Report{
		Subjects: len(d.Subjects), Runs: len(d.Runs), Frames: d.Frames, Tokens: d.Tokens, NamesFrom: d.NamesFrom,
		HemisphereOrder: string(d.Hemispheres()), Constant: len(d.Flat), Networks: map[string]int{},
		Notes: append([]string{}, d.Notes...),
	}
	if len(d.Flat) > 0 {
		first := d.Flat[0]
		r.Notes = append(r.Notes, fmt.Sprintf("Training would end with an error, unless with "+
			"--zscore=false: %d token(s) of runs do not vary and have no z-score, such as token "+
			"%s of %s, which is %v throughout.", len(d.Flat), first.Token, first.Run, first.Value))
	}
	var connectivity []float64
	connectivity, r.SD = meanCorrelations(d.Set)
	if d.Modules == nil {
		return r, nil
	}
	r.NetworksFrom = d.Modules.How
	for _, l := range d.Modules.Labels {
		r.Networks[d.Modules.Modules[l]]++
	}
	score, err := metrics.ScoreNetwork(connectivity, d.Modules.Labels)
	if err != nil {
		return r, err
	}
	if q := score.Modularity; !math.IsNaN(q) { // NaN where no two tokens correlate
		r.Modularity = &q
	}
	return r, nil
}

// meanCorrelations returns the correlations between tokens [tokens, tokens], averaged over runs, with
// negative means and the diagonal set to 0. Constant tokens have correlation 0. It also returns the
// smallest and the largest SD of a token in a run.
func meanCorrelations(s *series.Set) (mean []float64, sd [2]float64) {
	n := s.Tokens
	mean, sd = make([]float64, n*n), [2]float64{math.Inf(1), 0}
	for _, r := range s.Runs {
		// z-scores divided by the root of the frames, so that dot products are correlations
		columns := make([][]float32, n)
		for t := range columns {
			columns[t] = make([]float32, r.Frames)
			sum, flat := 0.0, true
			for f := range r.Frames {
				sum += float64(s.X[(r.First+f)*n+t])
				flat = flat && s.X[(r.First+f)*n+t] == s.X[r.First*n+t]
			}
			centre, squares := sum/float64(r.Frames), 0.0
			for f := range r.Frames {
				v := float64(s.X[(r.First+f)*n+t]) - centre
				squares += v * v
			}
			if flat { // then squares are rounding errors of the mean
				sd[0] = 0
				continue
			}
			deviation := math.Sqrt(squares / float64(r.Frames))
			sd[0], sd[1] = min(sd[0], deviation), max(sd[1], deviation)
			for f := range r.Frames {
				columns[t][f] = float32((float64(s.X[(r.First+f)*n+t]) - centre) / math.Sqrt(squares))
			}
		}
		for i := range n {
			for j := range i {
				var dot float32
				a, b := columns[i], columns[j]
				for f, v := range a {
					dot += v * b[f]
				}
				mean[i*n+j] += float64(dot) / float64(len(s.Runs))
			}
		}
	}
	for i := range n {
		for j := range i {
			mean[i*n+j] = max(0, mean[i*n+j])
			mean[j*n+i] = mean[i*n+j]
		}
	}
	return mean, sd
}
