package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"torchpe/data/sequence"
	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/models/pe"
	"torchpe/train/config"
)

func axis(flag string, values ...string) Axis { return Axis{flag, values} }

// expandAll returns the points of parts.
func expandAll(t rapid.TB, parts ...Part) []Point {
	points, err := Spec{Parts: parts}.Points()
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestPoints(t *testing.T) {
	p := Part{
		Name: "p",
		Axes: []Axis{axis("pe", "learn", "nope"), axis("optimizer", "adam", "sgd"),
			axis("heads", "1", "2"), axis("lr", "1e-4", "1e-3"), axis("members", "3")},
		Zip: [][]string{{"optimizer", "lr"}},
	}
	points := expandAll(t, p)
	var got []string
	for _, p := range points {
		got = append(got, strings.Join(p.Args(), " "))
	}
	want := []string{
		"--pe=learn --optimizer=adam --lr=1e-4 --heads=1 --members=3", "--pe=learn --optimizer=adam " +
			"--lr=1e-4 --heads=2 --members=3",
		"--pe=learn --optimizer=sgd --lr=1e-3 --heads=1 --members=3",
		"--pe=learn --optimizer=sgd --lr=1e-3 --heads=2 --members=3",
		"--pe=nope --optimizer=adam --lr=1e-4 --heads=1 --members=3",
		"--pe=nope --optimizer=adam --lr=1e-4 --heads=2 --members=3",
		"--pe=nope --optimizer=sgd --lr=1e-3 --heads=1 --members=3",
		"--pe=nope --optimizer=sgd --lr=1e-3 --heads=2 --members=3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSet(t *testing.T) {
	s := Spec{Parts: []Part{{Axes: []Axis{axis("pe", "learn"), axis("sigma", "1", "2"), axis("seeds", "paper")}},
		{Axes: []Axis{axis("pe", "nope"), axis("members", "2")}}}}
	from := s.Set([]Axis{axis("members", "3"), axis("seeds", "5")}) // seeds 5, 6 and 7
	if points, err := from.Points(); err != nil || len(points) != 3 || strings.Join(points[2].Args(), " ") !=
		"--pe=nope --members=3 --seeds=5" {
		t.Errorf("%v, %v", points, err)
	}
	changed := s.Set([]Axis{axis("sigma", "0.5"), axis("epochs", "3"), axis("seeds", "7,8")})
	points, err := changed.Points()
	if err != nil || len(points) != 2 ||
		strings.Join(points[0].Args(), " ") != "--pe=learn --sigma=0.5 --seeds=7,8 --epochs=3" {
		t.Errorf("%v, %v", points, err)
	}
	if points, err = s.Points(); err != nil || len(points) != 3 || len(s.Parts[0].Axes[1].Values) != 2 {
		t.Errorf("Set changed what it was given: %v, %v", points, err)
	}
}

func TestGridMistakes(t *testing.T) {
	for _, c := range []struct {
		part Part
		want string
	}{
		{Part{Axes: []Axis{axis("pe")}}, "pe has no values"},
		{Part{Axes: []Axis{axis("pe", "a"), axis("pe", "b")}}, "pe is given twice"},
		{Part{Axes: []Axis{axis("sigma", "0.5", "1", ".50")}}, "sigma: .50 is given twice"},
		{Part{Axes: []Axis{axis("pe", "a", "a"), axis("lr", "1", "1.0")}, Zip: [][]string{{"pe", "lr"}}},
			"pe: a with lr 1.0 is given twice"},
		{Part{Axes: []Axis{axis("pe", "a", "b"), axis("lr", "1")}, Zip: [][]string{{"pe", "lr"}}},
			"pe has 2 values and lr 1"},
		{Part{Axes: []Axis{axis("pe", "a")}, Zip: [][]string{{"pe", "lr"}}}, "no lr"},
		{Part{Axes: []Axis{axis("pe", "a"), axis("lr", "1")}, Zip: [][]string{{"pe", "lr"}, {"lr"}}},
			"lr is named twice"},
		{Part{Axes: []Axis{axis("a", expect.Must(config.Range("1", "1001", "1"))...),
			axis("b", expect.Must(config.Range("1", "1000", "1"))...)}}, "more than 1000000"},
	} {
		expect.Error(t, expect.ErrorOf((Spec{Parts: []Part{c.part}}).Points()), c.want)
	}
}

// Against a loop that is written out.
func TestCrossedCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 5).Draw(t, "sizes")
		var p Part
		want := []string{""}
		for i, n := range sizes {
			a := Axis{Flag: fmt.Sprint("f", i)}
			var next []string
			for v := range n {
				a.Values = append(a.Values, fmt.Sprint(v))
			}
			for _, before := range want {
				for _, v := range a.Values {
					next = append(next, before+" --"+a.Flag+"="+v)
				}
			}
			want = next
			p.Axes = append(p.Axes, a)
		}
		points := expandAll(t, p)
		for i, point := range points {
			if got := " " + strings.Join(point.Args(), " "); got != want[i] {
				t.Fatalf("point %d is %s, want %s", i, got, want[i])
			}
		}
		if len(points) != len(want) {
			t.Fatalf("%d points, want %d", len(points), len(want))
		}
	})
}

// Axes that advance together may have a value twice, as long as no pair is.
func TestZipRepeats(t *testing.T) {
	p := Part{Axes: []Axis{axis("optimizer", "adam", "adam", "sgd"), axis("lr", "1", "2", "2")},
		Zip: [][]string{{"optimizer", "lr"}}}
	expect.Equal(t, p, len(expandAll(t, p)), 3)
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string]string{
		"paper": "paper", "7": "7", "3, 1": "3,1", "1:4": "1,2,3,4", "1..4": "1,2,3,4",
		"1:7:3,10": "1,4,7,10", "9223372036854775807": "9223372036854775807",
	} {
		expect.Equal(t, text, fmt.Sprint(ParseSeeds(text)), fmt.Sprint(want, nil))
	}
	for text, want := range map[string]string{
		"1,1": "1 is given twice", "1:3,2": "2 is given twice", "": "is not a seed", "1.5": "is not a seed",
		"-1": "is not a seed", "a": "is not a seed", "paper,1": "is not a seed", "1:2:0": "does not change",
		"4:1": "leads away", "1:x": "is not a number", "1:100000": "more than",
	} {
		expect.Error(t, expect.ErrorOf(ParseSeeds(text)), want)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		// the paper's grid: 0.1 x 3 is not 0.3 in binary
		{"0.1:2:0.1", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 2"},
		{"1:5:2", "1 3 5"},
		{"3:1:-1", "3 2 1"},
		{"2:2:1", "2"},
		{"1e-18:2e-18:1e-18", "1e-18 2e-18"},
		{"-1e-18:-2e-18:-1e-18", "-1e-18 -2e-18"},
		{"1e18:1e18:1", "1e+18"},
		{"-1e18:-1e18:1", "-1e+18"},
		{"1e-4:3e-4:1e-4", "0.0001 0.0002 0.0003"},
		{"a,b", "a b"},
		{"7,1:3:1,9", "7 1 2 3 9"},
		{"cuda:1", "cuda:1"},
	} {
		expect.Equal(t, c.text, fmt.Sprint(ParseValues(c.text)), "["+c.want+"] <nil>")
	}
	for text, want := range map[string]string{"1:2:0": "", "1:2:-1": "", "1:2:x": "", "0:1e17:1e-3": "",
		"a,,b": "", "": "", "1:inf:1": "", "nan:1:1": "", "1:2:1e-300": "", "0x1:2:1": "", "0.1:2": "",
		"0.1:0.35:0.1": "step 0.1 does not reach 0.35: end with 0.3 or 0.4", "5:0:-2": "end with 1 or -1"} {
		if got, err := ParseValues(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %d values, %v", text, len(got), err)
		}
	}
}

// The numbers in the presets' comments. Within one preset of a figure no two runs are the same;
// those of paper and evidence count runs that two parts have once, which only resolved
// configurations tell: see cmd/torchpe.
func TestPresetCounts(t *testing.T) {
	for _, p := range Presets() {
		points, err := p.Spec.Points()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		runs := 0
		for _, point := range points {
			n := 1
			for _, s := range point.Settings {
				if s.Flag == "seeds" && s.Value == "paper" {
					n = 15
				} else if s.Flag == "seeds" {
					n = strings.Count(s.Value, ",") + 1
				}
			}
			runs += n
		}
		isUnion := p.Name == "paper" || p.Name == "evidence"
		if !isUnion && runs != p.Runs || isUnion && runs <= p.Runs {
			t.Errorf("%s: %d runs, want %d", p.Name, runs, p.Runs)
		}
	}
	expect.Error(t, expect.ErrorOf(FindPreset("figg2")), `"fig2"`)
}

// Values that presets.yaml writes out are those of the paper and of the published languages.
func TestPresetValues(t *testing.T) {
	values := func(preset string, part int, flag string) []string {
		t.Helper()
		axes := expect.Must(FindPreset(preset)).Spec.Parts[part].Axes
		return axes[slices.IndexFunc(axes, func(a Axis) bool { return a.Flag == flag })].Values
	}
	var texts [3][]string
	for i, sigmas := range [][]float64{paper.Sigmas(), paper.OptimizerSigmas(), paper.MaskedSigmas()} {
		for _, s := range sigmas {
			texts[i] = append(texts[i], fmt.Sprint(s))
		}
	}
	for _, c := range []struct {
		preset string
		part   int
		flag   string
		want   []string
	}{
		{"table1", 1, "pe", slices.DeleteFunc(paper.Encodings(), func(pe string) bool { return pe == paper.Learned })},
		{"fig2", 0, "sigma", texts[0]}, {"figA7", 0, "sigma", texts[1]},
		{"fig4", 0, "sigma", texts[2]}, {"lengths", 0, "sequence", sequence.Names(sequence.Published())},
	} {
		expect.Equal(t, c.preset, values(c.preset, c.part, c.flag), c.want)
	}
}

// The leaderboard has all encodings that a task can take.
func TestLeaderboardIsWhole(t *testing.T) {
	var all, onLine []string
	for _, s := range pe.Schemes() {
		all = append(all, s.Name)
		if s.Needs <= pe.NeedsGraph || s.Needs == pe.NeedsPoints && s.Name != "rope-3d" { // which has three axes
			onLine = append(onLine, s.Name)
		}
	}
	for preset, want := range map[string][]string{"leader-lst": all, "leader-nmar": onLine} {
		var got []string
		for _, part := range expect.Must(FindPreset(preset)).Spec.Parts {
			for _, axis := range part.Axes {
				if axis.Flag == "pe" {
					got = append(got, axis.Values...)
				}
			}
		}
		slices.Sort(got)
		expect.Equal(t, preset, slices.Compact(got), want)
	}
}

// The paper's Methods (2.3): weight decay is AdamW's, of 0.1, and each model variation has 15
// seeds, which the reduced grids have not.
func TestPresetsFollowThePaper(t *testing.T) {
	decayed := map[string]bool{}
	for _, p := range Presets() {
		points := expandAll(t, p.Spec.Parts...)
		for _, point := range points {
			args := point.Args()
			decays := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--weight-decay") })
			if decays {
				decayed[p.Name] = true
			}
			if decays && !(slices.Contains(args, "--optimizer=adamw") &&
				slices.Contains(args, "--weight-decay=0.1")) {
				t.Errorf("%s: %v", p.Name, args)
			}
			reduced := slices.ContainsFunc([]string{"quick", "demo", "evidence", "lengths", "leader"},
				func(start string) bool { return strings.HasPrefix(p.Name, start) })
			if !reduced && !slices.Contains(args, "--seeds=paper") {
				t.Errorf("%s: %v", p.Name, args)
			}
		}
	}
	if !decayed["quick"] || !decayed["figA8"] {
		t.Errorf("weight decay in %v", decayed)
	}
}
