package train

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"torchpe/models"
	"torchpe/torchpe"
)

// aboutTokens adds to the metadata of the probes what is known of the tokens: token_names, a line
// each, and with --positions token_points, the JSON [N][axes] of where they lie (row and column, or
// coordinates with the slowest axis first).
func (t *maskedTask) aboutTokens(about map[string]string) error {
	if t.table.Names != nil {
		about["token_names"] = lines(t.table.Names)
	}
	points := t.positions.Points
	for _, cell := range t.positions.Cells {
		points = append(points, []float64{float64(cell[0]), float64(cell[1])})
	}
	if !t.positionsGiven || points == nil {
		return nil
	}
	text, err := json.Marshal(points[:t.table.Tokens])
	about["token_points"] = string(text)
	return err
}

// longestName is the number of letters of a name that reports show.
const longestName = 200

func tooLong(name string) bool { return utf8.RuneCountInString(name) > longestName }

// lines writes names a line each; a name of several lines becomes one, and of one that is too long the
// start and its place remain.
func lines(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		if tooLong(name) {
			name = fmt.Sprintf("%s… (%d)", string([]rune(name)[:longestName]), i)
		}
		out[i] = strings.ReplaceAll(name, "\n", " ")
	}
	return strings.Join(out, "\n")
}

// testSubjects lists the subjects of the measured test frames, in the order of the data, and the
// place of each frame's in that list; nil where there are fewer than two.
func (t *maskedTask) testSubjects() (names []string, of []int) {
	at := map[int]int{}
	for _, frame := range t.split.Test {
		if t.table.Groups == nil {
			return nil, nil
		}
		group := t.table.Groups[frame]
		if _, ok := at[group]; !ok {
			at[group] = len(names)
			names = append(names, t.subjects[group])
		}
		of = append(of, at[group])
	}
	if len(names) < 2 {
		return nil, nil
	}
	return names, of
}

// subjectMSE returns [E,S] the mean squared error over the masked tokens of each test subject's
// frames, NaN where none is masked. of has the subject of each frame.
func (t *maskedTask) subjectMSE(e *ensemble, set testSet, step int, of []int) ([]float32, error) {
	subjects := slices.Max(of) + 1
	sums, counts := make([]float64, e.members()*subjects), make([]float64, subjects)
	n := t.table.Tokens
	for i, hidden := range set.masks {
		if hidden {
			counts[of[i/n]]++
		}
	}
	from := 0
	pass := maskedPass{set: set, step: step, frames: len(t.split.Test)}
	err := t.forward(e, pass, func(b maskedBatch, predicted torchpe.Tensor, _ *models.Trace) {
		each := predicted.Sub(b.target).Square()
		if b.weight.Defined() {
			each = each.Mul(b.weight)
		}
		samples := each.Size(1)
		for i, v := range each.Sum(2).To(torchpe.Float64, torchpe.CPU).Float64s() { // [E,B]
			sums[i/samples*subjects+of[from+i%samples]] += v
		}
		from += samples
	})
	out := make([]float32, len(sums))
	for i, sum := range sums {
		out[i] = float32(math.NaN())
		if c := counts[i%subjects]; c > 0 {
			out[i] = float32(sum / c)
		}
	}
	return out, err
}
