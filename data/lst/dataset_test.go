package lst

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// perCondition counts puzzles by condition.
func perCondition(ps []Puzzle) (n [3]int) {
	for _, p := range ps {
		n[p.Condition-1]++
	}
	return n
}

// The paper's sizes.
func checkPaperSizes(t *testing.T, d Dataset) {
	t.Helper()
	for _, c := range []struct {
		name string
		ps   []Puzzle
		want int // per condition
	}{{"Train", d.Train, 2700}, {"IID", d.IID, 300}, {"Validation", d.Validation, 36}} {
		expect.Equal(t, c.name+": puzzles per condition", perCondition(c.ps), [3]int{c.want, c.want, c.want})
	}
}

// checkPartition tests that train and iid are the pool, each in the pool's order.
func checkPartition(t *testing.T, pool, train, iid []Puzzle) {
	t.Helper()
	i, j := 0, 0
	for _, p := range pool {
		switch {
		case i < len(train) && train[i] == p:
			i++
		case j < len(iid) && iid[j] == p:
			j++
		default:
			t.Fatalf("%v is in neither part, or out of order", p)
		}
	}
	if i != len(train) || j != len(iid) {
		t.Fatalf("%d and %d puzzles are not of the pool", len(train)-i, len(iid)-j)
	}
}

func TestLoadPublished(t *testing.T) {
	var files []string
	for _, name := range publishedTraining {
		files = append(files, publishedPath(t, name))
	}
	d := expect.Must(Load(files, publishedPath(t, publishedValidation), 42))
	checkPaperSizes(t, d)
	slices.Reverse(files)
	again := expect.Must(Load(files, publishedPath(t, publishedValidation), 42))
	for _, ps := range [][]Puzzle{d.IID, again.IID} {
		slices.SortFunc(ps, comparePuzzles)
	}
	expect.Equal(t, "the order of the files decides which puzzles are held out", !slices.Equal(d.IID, again.IID),
		false)
}

func TestSplit(t *testing.T) {
	pool, _ := generated(t, Options{Train: 333}, 5)
	// a tenth, rounded up
	for n, want := range map[int]int{2: 1, 9: 1, 10: 1, 11: 2, 30: 3, 333: 34} {
		train, iid, err := splitPool(pool[:n], 9)
		if err != nil || len(iid) != want {
			t.Errorf("of %d puzzles %d were held out, want %d: %v", n, len(iid), want, err)
		}
		checkPartition(t, pool[:n], train, iid)
		all := perCondition(pool[:n])
		for c, held := range perCondition(iid) {
			if share := float64(want) * float64(all[c]) / float64(n); float64(held) <= share-1 ||
				float64(held) >= share+1 {
				t.Errorf("of %d puzzles %d of condition %d were held out, their share is %.2f", n,
					held, c+1, share)
			}
		}
	}
}

func TestSplitDependsOnSeedAndContentsOnly(t *testing.T) {
	pool, _ := generated(t, Options{Train: 300}, 5)
	held := func(pool []Puzzle, seed uint64) []Puzzle {
		_, iid, err := splitPool(pool, seed)
		expect.NoError(t, err)
		slices.SortFunc(iid, comparePuzzles)
		return iid
	}
	first := held(pool, 1)
	shuffled := slices.Clone(pool)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(pool),
		func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	expect.Equal(t, "the order of the pool decides which puzzles are held out",
		!slices.Equal(first, held(shuffled, 1)), false)
	expect.Equal(t, "the seed does not decide which puzzles are held out", slices.Equal(first, held(pool, 2)),
		false)
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	// The answer 4 again, in another row.
	second := strings.Replace(line, "1532000000000000", "0000153200000000", 1)
	third := strings.Replace(line, "1532000000000000", "0000000015320000", 1)
	good, single := write("good.csv", head+line+second), write("single.csv", head+third)
	twice, wrong := write("twice.csv", head+line), write("wrong.csv", head+strings.Replace(third, "1532", "1542", 1))
	bad, empty := write("bad.csv", head+"x\n"), write("empty.csv", "")
	for _, c := range []struct {
		name       string
		train      []string
		validation string
		want       string
	}{
		{"no training file", nil, good, "no training file"},
		{"absent training file", []string{good, filepath.Join(dir, "absent.csv")}, good,
			"absent.csv"},
		{"bad training file", []string{bad}, good, "bad.csv: row 1: "},
		{"empty validation file", []string{good}, empty, "empty.csv: no table"},
		{"one puzzle", []string{single}, good, "a pool of 1 puzzles cannot be split"},
		{"a puzzle twice", []string{good, twice}, single, "twice.csv: row 1: puzzle 1532000000000000 is also " + good +
			": row 1: remove one"},
		{"a training puzzle for validation", []string{good}, twice,
			"twice.csv: row 1: validation puzzle 1532000000000000 is also a training puzzle, " + good + ": row 1"},
		{"a validation puzzle twice", []string{good}, write("double.csv", head+third+third),
			"double.csv: row 2: puzzle 0000000015320000 is also row 1: remove one"},
		{"a wrong answer", []string{good}, wrong, "wrong.csv: row 1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			expect.Error(t, expect.ErrorOf(Load(c.train, c.validation, 0)), c.want)
		})
	}
	d := expect.Must(Load([]string{good}, single, 0))
	expect.Equal(t, "puzzles", [3]int{len(d.Train), len(d.IID), len(d.Validation)}, [3]int{1, 1, 1})
}
