package lst

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Numbers of the published sets that others computed (isomorphism classes,
// leaks and unique completions by an independent Python program, 0.8125 with scipy's jaccard, means
// with pandas).
func TestCheckPublished(t *testing.T) {
	train, validation := published(t)
	r := Check(train, validation)
	type counts struct {
		puzzles, valid, condition, answer, duplicates, isomorphic, covered, classes,
		unique int
	}
	got := counts{r.Puzzles, r.Valid, r.ConditionAgrees, r.AnswerAgrees, r.Duplicates,
		r.IsomorphicToValidation, r.ValidationCovered, r.ValidationClasses,
		r.UniqueCompletion.Validation}
	expect.Equal(t, "counts", got, counts{9108, 9108, 9108, 9108, 0, 115, 54, 34, 75})
	// Counted by brute force over rows and columns: see TestLinesPublished.
	expect.Equal(t, "puzzles of two lines", r.TwoLines, SetCounts{Training: 594})
	expect.Equal(t, "min dissimilarity", r.MinDissimilarity, 0.8125)
	if share := float64(r.UniqueCompletion.Training) / 9000; share < 0.54 || share > 0.69 {
		t.Errorf("%.3f of the training puzzles have a unique completion, want 0.54 to 0.69", share)
	}
	for label, mean := range map[string]string{"Binary": "8.15", "Ternary": "6.34",
		"Quaternary": "5.98"} {
		s := r.PerCondition[label].Training
		if fmt.Sprintf("%.2f", s.GivensMean) != mean || s.GivensMin != 3 || s.GivensMax != 11 ||
			s.Puzzles != 3000 {
			t.Errorf("%s: %d puzzles with %.4f givens (%d-%d), want 3000 with %s (3-11)",
				label, s.Puzzles, s.GivensMean, s.GivensMin, s.GivensMax, mean)
		}
	}
	p := r.PerCondition["Binary"].Training.Probes
	expect.Equal(t, "probes of Binary at cells 15 and 4", [2]int{p[15], p[4]}, [2]int{43, 357})
	expect.Equal(t, fmt.Sprintf("problems %q", r.Problems), fmt.Sprint(r.Err(), len(r.Problems)), "<nil> 0")
}

// Every defect of a set built to have them is found, and only the grave ones are errors.
func TestCheckFindsDefects(t *testing.T) {
	g := mustParse
	validation := []Puzzle{{g("1532 0000 0000 0000"), 4, OneVector},
		{g("5000 0100 0010 0001"), 1, ThreeVector}}
	// the first one with rows and symbols permuted
	good := Puzzle{g("0000 0000 0000 4352"), 1, OneVector}
	for _, c := range []struct {
		name                                              string
		p                                                 Puzzle
		valid, condition, answer, duplicates, iso, unique int
		fatal                                             bool
		problem                                           string
	}{
		{"good", good, 3, 3, 3, 0, 1, 0, false, ""},
		{"duplicate", validation[0], 3, 3, 3, 1, 1, 0, false, ""},
		{"wrong condition", Puzzle{good.Cells, 1, TwoVector}, 3, 2, 3, 0, 1, 0, false,
			`training puzzle 0: puzzle 0000000000004352: condition "Ternary" claimed, but it ` +
				`is "Binary"`},
		{"wrong answer", Puzzle{good.Cells, 2, OneVector}, 3, 3, 2, 0, 1, 0, true,
			"training puzzle 0: puzzle 0000000000004352: answer 2 claimed, but the rules force 1"},
		{"two lines", Puzzle{g("5120 0300 0003 0030"), 3, ThreeVector}, 3, 3, 3, 0, 0,
			0, false, ""},
		{"several steps", Puzzle{g("5120 0000 0003 0000"), 3, TwoVector}, 2, 2, 2, 0, 0, 0, true,
			"only in several steps"},
		{"side 5", Puzzle{"6123400000000000000000000", 5, OneVector}, 2, 2, 2, 0, 0, 0, true,
			"has side 5, want 4"},
		{"unique completion", Puzzle{g("1234 2143 3412 4325"), 1, OneVector}, 3, 3, 3, 0, 0,
			1, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check([]Puzzle{c.p}, validation)
			type counts struct {
				puzzles, valid, condition, answer, duplicates, isomorphic,
				unique int
			}
			got := counts{r.Puzzles, r.Valid, r.ConditionAgrees, r.AnswerAgrees, r.Duplicates,
				r.IsomorphicToValidation,
				r.UniqueCompletion.Training}
			expect.Equal(t, "counts", got,
				counts{3, c.valid, c.condition, c.answer, c.duplicates, c.iso, c.unique})
			expect.Equal(t, fmt.Sprintf("of %+v: puzzles of two lines", r.TwoLines), r.TwoLines != SetCounts{},
				c.name == "two lines")
			expect.Equal(t, fmt.Sprintf("there is an error (%v)", r.Err()), r.Err() != nil, c.fatal)
			if text := strings.Join(r.Problems, "\n"); (text == "") != (c.problem == "") ||
				!strings.Contains(text, c.problem) {
				t.Errorf("problems %q, want %q", text, c.problem)
			}
			want := 1.0
			for _, v := range validation {
				want = min(want, dissimilarity(c.p.Cells, v.Cells))
			}
			expect.Equal(t, "min dissimilarity", r.MinDissimilarity, want)
		})
	}
}

func TestCheckEmptyAndMany(t *testing.T) {
	r := Check(nil, nil)
	if r.Puzzles != 0 || r.MinDissimilarity != 1 || len(r.PerCondition) != 3 || r.Err() != nil {
		t.Errorf("%+v", r)
	}
	// Grave problems come first and the list is bounded.
	ps := make([]Puzzle, 50)
	for i := range ps {
		ps[i] = Puzzle{"1532000000000000", 4, ThreeVector}
	}
	ps[49].Answer = 1
	r = Check(ps, nil)
	if len(r.Problems) != maxProblems || !strings.HasPrefix(r.Problems[0], "training puzzle 49: ") {
		t.Errorf("%d problems, the first %q", len(r.Problems), r.Problems[0])
	}
	expect.Error(t, r.Err(),
		"of 50 puzzles 0 are not valid and 1 have a wrong answer; the first: training puzzle 49")
}
