package sequence

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// answers holds what testdata/make.py says of a task: of all strings of its alphabet by length, and
// of a few long inputs.
type answers struct {
	Lengths []struct {
		Count  int
		SHA256 string
	}
	Examples []struct {
		Input, Output string
		Scored        int
	}
}

func readAnswers(t *testing.T) (all map[string]answers) {
	t.Helper()
	text, err := os.ReadFile("testdata/answers.json")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Of all strings up to a length, those that are inputs have Python's answers, and no other is one.
func TestAnswersOfAllInputs(t *testing.T) {
	all := readAnswers(t)
	if len(All()) != 15 || len(all) != 15 {
		t.Fatalf("%d tasks, %d of make.py", len(All()), len(all))
	}
	for _, task := range All() {
		t.Run(task.Name, func(t *testing.T) {
			t.Parallel()
			lengths := all[task.Name].Lengths
			if testing.Short() {
				lengths = lengths[:4]
			}
			for i, want := range lengths {
				h, count := sha256.New(), 0
				for input := range stringsOf(i+1, len(task.Symbols)) {
					e, err := task.Answer(input)
					if err != nil {
						continue
					}
					count++
					fmt.Fprintf(h, "%s %s %d\n", task.Text(input), task.OutputText(e.Output), e.Scored)
					if len(e.Output) != task.OutputLen(i+1) {
						t.Fatalf("%s has an output of %d, want %d", task.Text(input), len(e.Output),
							task.OutputLen(i+1))
					}
				}
				if got := fmt.Sprintf("%x", h.Sum(nil)); count != want.Count || got != want.SHA256 {
					t.Errorf("length %d: %d inputs, want %d, or other answers", i+1, count, want.Count)
				}
			}
		})
	}
}

// stringsOf yields all lists of n numbers below symbols, in order.
func stringsOf(n, symbols int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		input := make([]int, n)
		for {
			if !yield(input) {
				return
			}
			i := n - 1
			for ; i >= 0 && input[i] == symbols-1; i-- {
				input[i] = 0
			}
			if i < 0 {
				return
			}
			input[i]++
		}
	}
}

func TestAnswersOfLongInputs(t *testing.T) {
	for name, a := range readAnswers(t) {
		task, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range a.Examples {
			input, err := task.Parse(want.Input)
			if err != nil {
				t.Fatal(err)
			}
			e, err := task.Answer(input)
			if err != nil || task.OutputText(e.Output) != want.Output || e.Scored != want.Scored {
				t.Errorf("%s %s: %s, %d count, %v; want %s, %d", name, want.Input, task.OutputText(e.Output),
					e.Scored, err, want.Output, want.Scored)
			}
			if again, err := task.ParseOutput(want.Output); err != nil || !slices.Equal(again, e.Output) {
				t.Errorf("%s: %v, %v", want.Output, again, err)
			}
		}
	}
}

// Draws of a length are all of its inputs, and long ones are inputs too.
func TestDrawReachesAllInputs(t *testing.T) {
	counts := readAnswers(t)
	for _, task := range All() {
		const length = 4
		r := rand.New(rand.NewPCG(1, 2))
		seen := map[string]bool{}
		want := counts[task.Name].Lengths[task.InputLen(length)-1].Count
		for range 200 * want {
			seen[task.Text(task.Draw(r, length).Input)] = true
		}
		if len(seen) != want {
			t.Errorf("%s: %d inputs of length %d were drawn, want %d", task.Name, len(seen), length, want)
		}
		for length := 1; length <= 60; length++ {
			e := task.Draw(r, length)
			if len(e.Input) != task.InputLen(length) || len(e.Output) != task.OutputLen(length) || e.Scored < 1 {
				t.Fatalf("%s, length %d: %+v", task.Name, length, e)
			}
		}
		task.Draw(r, 500)
	}
}

// Answers are not lopsided: the commonest output of one number is no more than half again as
// frequent as its share of the classes.
func TestAnswersAreBalanced(t *testing.T) {
	for _, task := range All() {
		if task.outputs != nil {
			continue
		}
		r, counts := rand.New(rand.NewPCG(3, 4)), map[int]int{}
		const n = 4000
		for range n {
			counts[task.Draw(r, 31).Output[0]]++
		}
		for class, count := range counts {
			if share := float64(count) / n * float64(len(task.Classes)); share > 1.5 {
				t.Errorf("%s: class %d has %.2f times its share", task.Name, class, share)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	if _, err := Find("reverse-strings"); err == nil || !strings.Contains(err.Error(), "reverse-string") {
		t.Error(err)
	}
	if _, err := reverseString.Parse("012"); err == nil || !strings.Contains(err.Error(), "character 3") {
		t.Error(err)
	}
	for want, input := range map[string][]int{"length 0": {}, "0 to 1": {0, 2}} {
		if _, err := reverseString.Answer(input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
