package analysis

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/config"
)

// A table has a row for each part, and one for the whole where that is no mean of one part.
func TestRowsOfTables(t *testing.T) {
	t.Chdir("testdata")
	for line, want := range map[string]string{
		"rank --table table.npy":                                  "0",
		"rank --table model.safetensors:stack":                    "0 1 mean",
		"attention map.csv --reference attention.safetensors:map": "0 each",
	} {
		r, _, err := run(line)
		expect.NoError(t, err)
		var got []string
		for _, row := range r.Tables[0].Rows {
			got = append(got, row[1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: rows %q, want %s", line, got, want)
		}
	}
}

// A cell lists the numbers of few heads, and gives the range of many that have one.
func TestHeadsInACell(t *testing.T) {
	four := perHead{0.25, 0.5, 0.125, 0.75}
	for want, heads := range map[string]perHead{"–": nil, "0.25 0.5 0.125 0.75": four,
		"0.125 to 1.5": append(four, 1.5, None), "0.25 –": {0.25, None}} {
		if got := heads.String(); got != want {
			t.Errorf("%v heads: %s, want %s", len(heads), got, want)
		}
	}
}

// Tables without a p do not count among those whose p is low or high.
func TestVerdict(t *testing.T) {
	found := []scores{{parts: [][]any{{0, Number(0.04)}, {1, Number(0.05)}, {2, None}}},
		{parts: [][]any{{0, Number(0.4)}}}}
	if got, want := verdict(found, 1), "p < .05 in 1 of 3 tables"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A drawing has a panel for each map, three in a row, with a legend of its modules, and names up to 64 tokens.
func TestDrawnMaps(t *testing.T) {
	for tokens, named := range map[int]bool{64: true, 65: false} {
		one := tokenMap{axes: []string{"PC 1", "PC 2"}}
		for i := range tokens {
			one.tokens = append(one.tokens, fmt.Sprint("t", i))
			one.at = append(one.at, []Number{Number(i % 8), Number(i / 8)})
			one.modules = append(one.modules, []string{"east", "west"}[i%2])
		}
		svg := expect.Must(drawMaps([]tokenMap{one, one, one, one}, ".svg"))
		if got := strings.Contains(string(svg), ">t0<"); got != named || strings.Count(string(svg), ">PC 1<") != 4 {
			t.Errorf("%d tokens are named: %v, want %v", tokens, got, named)
		}
		if strings.Count(string(svg), ">east<") != 4 || strings.Count(string(svg), ">west<") != 4 {
			t.Error("not every map has a legend of the two modules")
		}
		if _, height, _ := strings.Cut(string(svg), `height="`); !strings.HasPrefix(height, "389.4pt") {
			t.Errorf("four maps are %.8s high, want two rows of 2.6 in, margins and a gap", height)
		}
	}
}

// Runs that look at other examples by their settings are noted, with the setting.
func TestOtherData(t *testing.T) {
	of := func(source, config string) *Model {
		run := &cohort.Run{}
		run.Config.JSON = []byte(config)
		return &Model{Subject: Subject{source, &cohort.Model{Run: run}}}
	}
	m := of("a", `{"task":"lst","data_seed":1,"lr":1}`)
	for config, want := range map[string]string{
		`{"task":"lst","data_seed":1,"lr":2}`:                      "",
		`{"task":"lst","data_seed":2,"lr":1}`:                      "data_seed 1 and data_seed 2",
		`{"task":"nmar","data_seed":1}`:                            "task lst and task nmar",
		`{"task":"lst","data_seed":1,"lst_validation":"mine.csv"}`: "lst_validation none and lst_validation mine.csv",
		`{"task":"lst","data_seed":1,"lst_side":5}`:                "lst_side none and lst_side 5",
	} {
		in := &Input{}
		in.noteOtherData(m, of("b", config))
		if got := strings.Join(in.Notes, "; "); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: note %q, want one with %q", config, got, want)
		}
	}
	in, other := &Input{}, of("b", `{"task":"lst","data_seed":1,"lr":1}`)
	other.member.Run.DataSHA256 = "1a0dc7efbb"
	if in.noteOtherData(m, other); !strings.HasSuffix(strings.Join(in.Notes, "; "), "data unknown and data 1a0dc7ef") {
		t.Errorf("of other data: %q", in.Notes)
	}
	in, fewer, more := &Input{}, of("a", "{}"), of("b", "{}")
	fewer.member.Run.Config.Masked = &config.MaskedConfig{TestLevels: []float64{.15, .9}}
	more.member.Run.Config.Masked = &config.MaskedConfig{TestLevels: []float64{.9}}
	in.noteOtherData(fewer, more)
	expect.Contains(t, strings.Join(in.Notes, "; "), "a has attention with 15\u00a0% of the tokens masked, the "+
		"reference b with 90\u00a0%")
}

// A file of several members' distances has an axis of members.
func TestDistancesOfMembers(t *testing.T) {
	dir, n := t.TempDir(), len(synthetic.TokenNames)
	synthetic.Write(t, dir, synthetic.Run{Name: "run", Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{3, 4},
		Subjects: []string{"a", "b"}})
	for member, want := range map[int]string{All: fmt.Sprintf("(2, %d, %d)", n, n), 1: fmt.Sprintf("(%d, %d)", n, n)} {
		r, _, err := run(fmt.Sprintf("distances %s --block 0 --member %d --out d.npy", dir, member))
		if err != nil || !strings.Contains(string(r.File[:128]), "'shape': "+want) {
			t.Errorf("member %d: %.100q, %v; want %s", member, r.File, err, want)
		}
	}
}
