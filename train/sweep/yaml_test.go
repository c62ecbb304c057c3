package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train/config"
)

var testFlags = map[string]Flag{
	"pe": {}, "sigma": {Check: aNumber}, "heads": {}, "optimizer": {}, "lr": {}, "preset": {}, "zscore": {},
	"noise": {config.List, aNumber}, "lst-train": {Sweep: config.Repeated}, "seed": {},
	"weight-decay": {}, "epochs": {}, "batch": {},
}

func aNumber(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return fmt.Errorf("%q is not a number", text)
	}
	return nil
}

func TestYAML(t *testing.T) {
	s := expect.Must(parseYAML([]byte(`# a sweep
name: mine
seeds: paper
set: {preset: quick, noise: [0.1, 1], lst-train: [a.csv, b.csv]}
parts:
  - name: first
    grid:
      pe: [learn, nope]
      heads: [1, 2]
  - members: 3
    grid: {pe: learn, sigma: {from: 0.1, to: 0.3, step: 0.1}, heads: 1}
    zip:
      - {optimizer: [adam, sgd], lr: [1e-4, 1e-3]}
`), testFlags))
	points := expandAll(t, s.Parts...)
	const set = "--preset=quick --noise=0.1,1 --lst-train=a.csv --lst-train=b.csv "
	var got []string
	for _, p := range points {
		got = append(got, strings.TrimPrefix(strings.Join(p.Args(), " "), set))
	}
	want := strings.Split(strings.TrimSpace(`
--seeds=paper --pe=learn --heads=1
--seeds=paper --pe=learn --heads=2
--seeds=paper --pe=nope --heads=1
--seeds=paper --pe=nope --heads=2
--pe=learn --sigma=0.1 --heads=1 --optimizer=adam --lr=1e-4 --members=3
--pe=learn --sigma=0.1 --heads=1 --optimizer=sgd --lr=1e-3 --members=3
--pe=learn --sigma=0.2 --heads=1 --optimizer=adam --lr=1e-4 --members=3
--pe=learn --sigma=0.2 --heads=1 --optimizer=sgd --lr=1e-3 --members=3
--pe=learn --sigma=0.3 --heads=1 --optimizer=adam --lr=1e-4 --members=3
--pe=learn --sigma=0.3 --heads=1 --optimizer=sgd --lr=1e-3 --members=3`), "\n")
	if strings.Join(got, "\n") != strings.Join(want, "\n") || s.Name != "mine" || points[0].Part != "first" {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for text, want := range map[string]string{"1:4": "1,2,3,4", "2..3": "2,3",
		"{from: 1, to: 5, step: 2}": "1,3,5", "[1:3, 9]": "1,2,3,9"} {
		s := expect.Must(parseYAML([]byte("grid: {pe: learn}\nseeds: "+text+"\n"), testFlags))
		if seeds := s.Parts[0].Axes[1]; seeds.Flag != "seeds" || seeds.Values[0] != want {
			t.Errorf("seeds %s: %+v", text, s)
		}
	}
	// A list that is named once; what stands at the top holds for all parts.
	s = expect.Must(parseYAML([]byte("grid: {heads: [1, 2]}\nzip: [{optimizer: [adam, sgd], lr: [1, 2]}]\n"+
		"parts: [{grid: {pe: &a [learn, nope]}}, {grid: {pe: *a}, set: {heads: 1}}]\n"), testFlags))
	if points := expandAll(t, s.Parts...); len(points) != 8+4 ||
		strings.Join(points[11].Args(), " ") != "--heads=1 --optimizer=sgd --lr=2 --pe=nope" {
		t.Errorf("%v", points)
	}
	// What a part gives replaces what the top gives: its seeds, and all flags of an entry of zip.
	for _, c := range [][2]string{
		{"set: {pe: nope}, members: 2, seeds: [9]", "--pe=nope --seeds=9 --members=2"},
		{"grid: {seed: [1, 2]}, parts: [{members: 2, set: {pe: rope}}]", "--pe=rope --members=2"},
		{"grid: {pe: nope, seed: [1, 2]}, parts: [{seeds: [5]}]", "--pe=nope --seeds=5"},
		{"grid: {pe: nope}, members: 2, parts: [{set: {seed: 9}}]", "--pe=nope --seed=9"},
		{"zip: [{lr: [1, 2], seed: [3, 4]}], parts: [{seeds: [5], set: {lr: 6}}]", "--lr=6 --seeds=5"},
		{"zip: [{pe: [a, b], lr: [1, 2]}], parts: [{zip: [{pe: [c, d], lr: [3, 4]}]}]",
			"--pe=c --lr=3, --pe=d --lr=4"},
		{"zip: [{pe: [a, b], lr: [1, 2]}], parts: [{grid: {lr: [3, 4]}, set: {pe: c}}]",
			"--pe=c --lr=3, --pe=c --lr=4"},
		{"zip: [{pe: [a, b], lr: [1, 2]}], parts: [{zip: [{pe: c, lr: 3, heads: 4}]}]", "--pe=c --lr=3 --heads=4"},
		{"zip: [{pe: [a, b], lr: [1, 2]}, {heads: 3, batch: 4}], parts: [{zip: [{heads: [5, 6], batch: [7, 8]}]}]",
			"--pe=a --lr=1 --heads=5 --batch=7, --pe=a --lr=1 --heads=6 --batch=8, " +
				"--pe=b --lr=2 --heads=5 --batch=7, --pe=b --lr=2 --heads=6 --batch=8"},
	} {
		var got []string
		for _, p := range expandAll(t, expect.Must(parseYAML([]byte("{"+c[0]+"}"), testFlags)).Parts...) {
			got = append(got, strings.Join(p.Args(), " "))
		}
		expect.Equal(t, c[0], strings.Join(got, ", "), c[1])
	}
	crlf, err := parseYAML([]byte("\xef\xbb\xbfgrid:\r\n  pe: [learn, nope]\r\nseeds: [3, 4]\r\n"), testFlags)
	if err != nil || len(crlf.Parts) != 1 || crlf.Parts[0].Axes[1].Values[0] != "3,4" ||
		crlf.Parts[0].Axes[0].Values[1] != "nope" {
		t.Errorf("%+v, %v", crlf, err)
	}
}

func TestYAMLMistakes(t *testing.T) {
	var numbers strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&numbers, "%d,", i+2)
	}
	for _, c := range []struct{ text, want string }{
		{"", "empty"},
		{"# nothing\n", "empty"},
		{"- a\n- b\n", "line 1"},
		{"name: x\n", "nothing to train"},
		{"grid:\n  pee: [learn]\n", `line 2, column 3: grid: "pee" is unknown; did you mean "pe"?`},
		{"grd:\n  pe: [learn]\n",
			`line 1, column 1: sweep: "grd" is unknown; there are name, set, grid, zip, seeds, members, ` +
				`parts; did you mean "grid"?`},
		{"grid:\n  pe: learn\n  pe: nope\n", `line 3, column 3: grid: "pe" is given twice`},
		{"grid: {pe: learn}\ngrid: {pe: nope}\n", `line 2, column 1: sweep: "grid" is given twice`},
		{"grid: {pe: [learn, learn]}\n", "line 1, column 12: pe: learn is given twice"},
		{"seeds: [1]\nset: {pe: learn}\ngrid:\n  sigma: [0.1, 0.10]\n",
			"line 4, column 10: sigma: 0.10 is given twice"},
		{"grid: {sigma: [0.5, .5]}\n", "given twice"},
		{"grid: {pe: []}\n", "line 1, column 12: pe: want a non-empty list"},
		{"grid: {pe: }\n", "no value"},
		{"grid: {pe: [~]}\n", "no value"},
		{"grid: {epochs: 010}\n", "line 1, column 16: epochs: 010 may be read as octal"},
		{"grid: {sigma: {from: 1, to: 2}}\n", "from, to and step"},
		{"grid: {sigma: {from: 1, to: 2, stepp: 1}}\n", `did you mean "step"?`},
		{"grid: {sigma: {from: 1, to: 2, step: 0}}\n", "does not change"},
		{"grid: {sigma: {from: 1, to: 2, step: .3}}\n", "does not reach 2: end with 1.9 or 2.2"},
		{"grid: {sigma: {from: .nan, to: 2, step: 1}}\n", "is not a number"},
		{"set: {sigma: [1, 2]}\n", "belongs under grid"},
		{"grid: {pe: [[learn]]}\n", "takes one value"},
		{"seeds: 0\ngrid: {pe: learn}\n", "line 1, column 8: seeds"},
		{"seeds: [3, 4]\ngrid: {seed: [1, 2]}\n", "line 1, column 8: seed in grid and seeds both give seeds"},
		{"members: 2\ngrid: {pe: nope, seed: [9]}\n", "line 1, column 10: seed in grid and members both " +
			"give seeds: give one of them (seeds: [9] with members: 2 trains 9 and 10)"},
		{"members: 2\nset: {seed: 9}\n", "line 1, column 10: seed in set and members both give seeds"},
		{"members: 2\nzip: [{lr: [1, 2], seed: [8, 9]}]\n",
			"line 1, column 10: seed in entry 1 of zip and members both give seeds"},
		{"parts: [{members: 2, set: {seed: 9}}]\n", "line 1, column 19: seed in set and members both give seeds"},
		{"set: {pe: nope}\ngrid: {pe: [learn]}\n",
			"line 2, column 12: set and grid both give pe: give it in one of them, with all its values"},
		{"grid: {lr: [1, 2]}\nzip: [{lr: [3, 4], sigma: [5, 6]}]\n",
			"line 2, column 12: grid and entry 1 of zip both give lr"},
		{"set: {lr: 1}\nzip: [{lr: [3, 4], sigma: [5, 6]}]\n",
			"line 2, column 12: set and entry 1 of zip both give lr"},
		{"zip: [{lr: [1, 2], pe: [a, b]}, {lr: [3, 4], sigma: [5, 6]}]\n",
			"line 1, column 38: entry 1 of zip and entry 2 of zip both give lr"},
		{"parts: [{set: {pe: nope}, grid: {pe: [learn]}}]\n", "line 1, column 38: set and grid both give pe"},
		{"zip: [{pe: [a, b], lr: [1, 2]}]\nparts: [{grid: {lr: [3, 4]}}]\n", "line 2, column 21: grid: lr " +
			"advances with pe in the zip at the top: give all of them in this part, or none"},
		{"zip: [{pe: [a, b], lr: [1, 2]}]\nparts: [{zip: [{lr: [3, 4], sigma: [5, 6]}]}]\n",
			"line 2, column 21: entry 1 of zip: lr advances with pe in the zip at the top"},
		{"zip: [{lr: [1, 2], seed: [3, 4]}]\nparts: [{members: 5}]\n",
			"line 2, column 19: members: seed advances with lr in the zip at the top"},
		{"seeds: [1, 1]\ngrid: {pe: learn}\n", "line 1, column 8: seeds: 1 is given twice"},
		{"seeds: 3:1\ngrid: {pe: learn}\n", "leads away"},
		{"grid:\n  sigma: [0.5, abc]\n", `line 2, column 16: sigma: "abc" is not a number`},
		{"set:\n  noise: [0.5, abc]\n", `line 2, column 16: noise: "abc" is not a number`},
		{"seeds: many\ngrid: {pe: learn}\n", `"many" is not a seed`},
		{"seeds: 3\ngrid: {pe: learn}\n", "line 1, column 8: seeds: 3 alone was a count: write members: 3 for " +
			"that many seeds, or seeds: [3] for this one"},
		{"members: 0\ngrid: {pe: learn}\n", "line 1, column 10: members: want a number of seeds"},
		{"members: [1, 2]\ngrid: {pe: learn}\n", "members: want one value"},
		{"seeds: []\ngrid: {pe: learn}\n", "non-empty"},
		{"seeds: {a: 1}\ngrid: {pe: learn}\n", "line 1"},
		{"zip: {pe: [a]}\n", "zip: want a non-empty list"},
		{"zip:\n  - {pe: [a, b], lr: [1]}\n", "line 2, column 22: zip: pe has 2 values and lr 1"},
		{"grid: &g {pe: *g}\n", `"pe" is unknown`},
		{"parts: &p [*p]\n", "want keys and values"},
		{"set: {lst-train: &l [*l]}\n", "want one value"},
		{"grid: {heads: &l [" + numbers.String() + "1]}\nparts: [" +
			strings.Repeat("{zip: [{lr: *l}]},", 2000) + "]\n", "more than 1000000 values"},
		{"a: &a [x,x]\nb: &b [*a,*a]\n", `"a" is unknown`},
		{"grid: {pe: !!binary aGk=}\n", ""},
		{"grid: {pe: !mine x}\n", "the tag !mine"},
		{"grid: {pe: learn}\n---\ngrid: {pe: nope}\n", "second document"},
		{"grid:\n\tpe: learn\n", "line 2"},
		{"grid: {pe: \"a\x00b\"}\n", "control characters"},
		{"grid: {pe: \"a\\nb\"}\n", "several lines"},
		{"grid: {pe: learn\n", "line"},
		{"? [a]\n: b\n", "a key must be a name"},
		{"parts: []\n", "parts: want a non-empty list"},
		{"parts:\n  - nam: x\n    grid: {pe: learn}\n", `line 2, column 5: part: "nam" is unknown`},
		{strings.Repeat("[", 200_000), "depth"},
		{strings.Repeat("# long\n", 200_000), "larger than"},
	} {
		start := time.Now()
		s, err := parseYAML([]byte(c.text), testFlags)
		if err == nil {
			_, err = s.Points()
		}
		if c.want == "" {
			continue // it must not panic; what it means is up to YAML
		}
		short := c.text[:min(len(c.text), 80)]
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q (%+v)", short, err, c.want, s)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%q took %v", short, d)
		}
	}
	path := filepath.Join(t.TempDir(), "s.yaml")
	expect.NoError(t, os.WriteFile(path, []byte("grid: {pee: x}\n"), 0o666))
	if _, err := ReadFile(path, testFlags); err == nil || !strings.HasPrefix(err.Error(), path+": line 1") {
		t.Error(err)
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("grid: {pe: [learn, nope]}\nmembers: 3\n")
	f.Add("parts: [{grid: {sigma: {from: 1, to: 2, step: .5}}}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseYAML([]byte(text), testFlags); err == nil && len(s.Parts) == 0 {
			t.Errorf("%q: no parts", text)
		}
	})
}
