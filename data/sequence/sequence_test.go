package sequence

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
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

func readAnswers(t *testing.T) map[string]answers {
	t.Helper()
	return expect.JSON[map[string]answers](t, "testdata/answers.json")
}

// The inputs drawn of a length are all of Python's, with its answers, and no others.
func TestAnswersOfAllInputs(t *testing.T) {
	all := readAnswers(t)
	if len(Published()) != 15 || len(all) != 15 {
		t.Fatalf("%d tasks, %d of make.py", len(Published()), len(all))
	}
	for _, task := range Published() {
		t.Run(task.Name, func(t *testing.T) {
			t.Parallel()
			lengths := all[task.Name].Lengths
			if testing.Short() {
				lengths = lengths[:4]
			}
			r := rand.New(rand.NewPCG(1, 2))
			for i, want := range lengths {
				seen := map[string]Example{}
				for range 60 * want.Count {
					e := task.Draw(r, i+1)
					seen[task.Text(e.Input)] = e
				}
				h := sha256.New()
				inOrder := func(a, b Example) int { return slices.Compare(a.Input, b.Input) }
				for _, e := range slices.SortedFunc(maps.Values(seen), inOrder) {
					fmt.Fprintf(h, "%s %s %d\n", task.Text(e.Input), task.OutputText(e.Output), e.Scored)
				}
				if got := fmt.Sprintf("%x", h.Sum(nil)); len(seen) != want.Count || got != want.SHA256 {
					t.Errorf("length %d: %d inputs, want %d, or other answers", i+1, len(seen), want.Count)
				}
			}
		})
	}
}

// parse returns the numbers of characters.
func parse(alphabet, text string) (numbers []int) {
	for _, c := range text {
		numbers = append(numbers, strings.IndexRune(alphabet, c))
	}
	return numbers
}

func TestAnswersOfLongInputs(t *testing.T) {
	for name, a := range readAnswers(t) {
		task := expect.Must(Find(name))
		for _, want := range a.Examples {
			input := parse(task.Symbols, want.Input)
			e := task.Answer(input)
			if task.OutputText(e.Output) != want.Output || e.Scored != want.Scored {
				t.Errorf("%s %s: %s, %d count; want %s, %d", name, want.Input, task.OutputText(e.Output),
					e.Scored, want.Output, want.Scored)
			}
			expect.Equal(t, want.Output, parse(task.Classes, want.Output), e.Output)
		}
	}
}

// Draws have the lengths that the task says.
func TestLengthsOfDraws(t *testing.T) {
	for _, task := range Published() {
		r := rand.New(rand.NewPCG(1, 2))
		for length := 1; length <= 500; length += 1 + length/60*7 {
			e := task.Draw(r, length)
			if len(e.Input) != task.InputLen(length) || len(e.Output) != task.OutputLen(length) || e.Scored < 1 {
				t.Fatalf("%s, length %d: %+v", task.Name, length, e)
			}
		}
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
	expect.Error(t, expect.ErrorOf(Find("reverse-strings")), "reverse-string")
}

// Sums of drawn numbers are those of math/big, and places of digits count from each number's start.
func TestAddition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	value := func(digits string) *big.Int {
		reversed := []byte(digits)
		slices.Reverse(reversed)
		n, ok := new(big.Int).SetString(string(reversed), 10)
		if !ok {
			t.Fatalf("%q is no number", digits)
		}
		return n
	}
	for length := 1; length <= 45; length++ {
		e := addition.Draw(r, length)
		a, b, ok := strings.Cut(addition.Text(e.Input), "+")
		if !ok || len(a) != len(b) || len(e.Output) != len(a)+1 || e.Scored != len(e.Output) {
			t.Fatalf("length %d: %+v", length, e)
		}
		if want := new(big.Int).Add(value(a), value(b)); want.Cmp(value(addition.OutputText(e.Output))) != 0 {
			t.Errorf("%s + %s: %s", a, b, addition.OutputText(e.Output))
		}
	}
	places, ok := addition.DigitPlaces(6) // as 5: ab+cd, and three digits
	if want := []int{1, 2, 0, 1, 2, 1, 2, 3}; !ok || !slices.Equal(places, want) {
		t.Errorf("places %v, want %v", places, want)
	}
}

// A text's windows are runs of its characters, held-out ones those of the last tenth.
func TestText(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	long := strings.Repeat("aé—b", 50)
	text := expect.Must(ReadText([]string{write("a", long), write("b", "bbbb")}))
	expect.Equal(t, "characters", string(text.Characters), "abé—")
	windows := expect.Must(ReadText([]string{write("windows", "\ufeff"+strings.Repeat("ab\r\n", 20))}))
	expect.Equal(t, "characters without byte order mark and CR", string(windows.Characters), "\nab")
	if train, held := len(slices.Concat(text.train...)), len(slices.Concat(text.held...)); train != 184 || held != 20 {
		t.Errorf("%d and %d characters", train, held)
	}
	spell := func(window []uint16) (out string) {
		for _, c := range window {
			out += string(text.Characters[c])
		}
		return out
	}
	r, seen := rand.New(rand.NewPCG(7, 8)), map[string]bool{}
	for range 300 {
		drawn := spell(text.Draw(r, 4))
		if seen[drawn] = true; !strings.Contains(long+" bbbb", drawn) {
			t.Fatalf("%q is not in the text", drawn)
		}
	}
	if len(seen) != 5 {
		t.Errorf("%d different windows, want 5: %v", len(seen), seen)
	}
	expect.Equal(t, "windows are held out", text.HeldOut(8), 13)
	for i, want := range []string{"aé—baé—b", "aé—baé—b", "aé—baé—b"} { // from 0, 4 and 8
		expect.Equal(t, fmt.Sprintf("window %d", i), spell(text.Held(i, 3, 8)), want)
	}
	if got := spell(text.Held(0, 1, 20)); got != long[len(long)-len("aé—b")*5:] {
		t.Errorf("%q", got)
	}
	if err := text.Check(180, 20); err != nil {
		t.Error(err)
	}
	about := expect.Must(ReadText([]string{write("a", long), write("b", "bbbb"),
		write("c", strings.Repeat("b", 18)+"xb")}))
	want := []string{
		"text: 2 of 3 files, with 22 characters there, are shorter than a window of 19 and not trained on: " +
			"join short texts into files",
		"text: 2 of 3 files, with 2 characters there, are shorter than a window of 20 and not measured in the " +
			"longest windows: join short texts into files",
		"text: the held-out part has characters that training never meets: 'x' in 1 place",
	}
	if got := about.About(19, 20); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := text.About(4, 0); got != nil {
		t.Errorf("%q", got)
	}
	random := ""
	for range 6000 {
		random += string(rune('a' + r.IntN(7)))
	}
	// The other file trains on 5,940 characters, and 600 from 5,400 on are held out.
	longer := random + strings.Repeat("abcdefg", 86)[:600]
	beside := expect.Must(ReadText([]string{write("a", random), write("b", longer)}))
	expect.Contains(t, strings.Join(beside.About(4, 4), "\n"), "text: 2 of 6 passages of 200 held-out characters")
	once := expect.Must(ReadText([]string{write("a", random)}))
	expect.Equal(t, "notes on a text that is given once", once.About(4, 4), nil)
	for want, err := range map[string]error{
		"the same text as": expect.ErrorOf(ReadText([]string{write("a", long), write("d", long)})),
		"at most 180":      text.Check(181, 20), "at most 20": text.Check(180, 21),
		"one: 1 diff": expect.ErrorOf(ReadText([]string{write("one", "aaa")})),
		"no: 0 diff":  expect.ErrorOf(ReadText([]string{write("no", "")})),
		"byte 2":      expect.ErrorOf(ReadText([]string{write("bad", "ab\xff")})),
		"give a file": expect.ErrorOf(ReadText(nil)), "folder": expect.ErrorOf(ReadText([]string{dir})),
	} {
		expect.Error(t, err, want)
	}
}
