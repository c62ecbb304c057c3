package runlog

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

// Lines of torchpe 0.1.0, as it wrote them, with each key that it had. A null was a number that was
// not finite or not measured.
const (
	oldPuzzles = `{"step":5,"epoch":1,"member":2,"seed":9,"validation_by_lines":{"1":0.5},` +
		`"accuracy_by_tokens":{"25":0.5,"36":null},"pe_norm":10.5,"pe_effective_rank":3.25,` +
		`"pe_motion":{"moved":[0.1,0.2],"gradient_share":0.3,"disparity":[0.4,0.5],"cosine":[0.6,0.7],` +
		`"map":[[1,0.5]]},"fit":{"criterion":"train=0.99","reached":true,"epoch":1,"step":5},"sigma":0.3,` +
		`"loss":null,"train_accuracy":0.25,"iid_accuracy":null,"validation_accuracy":0.125,` +
		`"validation_by_condition":{"Binary":0.75,"Ternary":0.5,"Quaternary":null},"wall_seconds":1e-7,"step_ms":null}`
	oldSequences = `{"step":1,"accuracy_by_length":{"64":0.5},"perplexity_by_length":{"64":5},` +
		`"loss_by_position":{"32":1.5,"64":1.25},"loss":1}`
	oldMasked = `{"step":1,"sigma":null,"loss":0.5,"wall_seconds":1,"step_ms":2,"train_mse":0.5,` +
		`"test_mse_by_mask":{"0.15":1,"0.90":2},"modularity":-0.25,"clustering":null,` +
		`"modularity_by_block":[-0.5,0],"clustering_by_block":[1]}`
	oldMember = `{"pe":"learn","seed":3,"epochs":4,"steps":10,"accuracy_by_tokens":{"25":0.5},` +
		`"accuracy_by_tokens_and_condition":{"25":{"Binary":0.125}},"noise_accuracy":{"0.1":0.5},` +
		`"tangent_alignment":0.75,"pe_motion":{"moved":[0.1],"start_cosine":[0.2]},"status":"diverged",` +
		`"diverged_at_step":11,"sigma":0.1,"train_accuracy":1,"iid_accuracy":0,"validation_accuracy":null}`
)

// TestOldFiles checks the numbers of records and results of torchpe 0.1.0 against those in their text,
// and that they are the same once they were written again.
func TestOldFiles(t *testing.T) {
	for _, c := range []struct {
		text string
		want Numbers
	}{
		{oldPuzzles, Numbers{"train": .25, "validation": .125, "validation/1-vector": .75, "validation/2-vector": .5,
			"validation_lines/1": .5, "tokens/25": .5, "pe_norm": 10.5, "pe_effective_rank": 3.25, "pe_moved/0": .1,
			"pe_moved/1": .2, "pe_gradient_share": .3, "pe_disparity/0": .4, "pe_disparity/1": .5, "pe_cosine/0": .6,
			"pe_cosine/1": .7}},
		{oldSequences, Numbers{"length/64": .5, "perplexity/64": 5, "position_loss/32": 1.5, "position_loss/64": 1.25,
			"loss": 1}},
		{oldMasked, Numbers{"loss": .5, "train_mse": .5, "test_mse/0.15": 1, "test_mse/0.90": 2, "modularity": -.25,
			"modularity/0": -.5, "modularity/1": 0, "clustering/0": 1}},
	} {
		var r, again Record
		expect.NoError(t, json.Unmarshal([]byte(c.text), &r))
		expect.Equal(t, c.text, r.Measures, c.want)
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || !maps.Equal(again.Measures, c.want) || !slices.Equal(again.Map, r.Map) {
			t.Errorf("written again: %s, %v", text, err)
		}
	}
	var r Record
	var m MemberResult
	if err := json.Unmarshal([]byte(oldPuzzles), &r); err != nil || r.Step != 5 || r.Member != 2 || *r.Sigma != .3 ||
		r.WallSeconds != 1e-7 || r.StepMS != 0 || *r.Fit != (Fit{"train=0.99", true, 1, 5}) ||
		!slices.Equal(r.Map, [][2]float64{{1, .5}}) {
		t.Errorf("%+v, %v", r, err)
	}
	if err := json.Unmarshal([]byte(oldMember), &m); err != nil || m.PE != "learn" || m.Steps != 10 ||
		m.DivergedAtStep != 11 || m.Status != StatusDiverged || !maps.Equal(m.Measures, Numbers{"train": 1, "iid": 0,
		"tokens/25": .5, "tokens/25/1-vector": .125, "noise/0.1": .5, "tangent_alignment": .75, "pe_moved/0": .1,
		"pe_start_cosine/0": .2}) {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestOldRunGoesOn checks that a run whose first records torchpe 0.1.0 wrote goes on with records of
// today, and keeps the bytes of the old ones.
func TestOldRunGoesOn(t *testing.T) {
	r := resumed(t, oldMasked+"\n")
	expect.Must(r.TruncateMetrics(1))
	expect.NoError(t, r.Append(Record{Step: 2, Measures: Numbers{"loss": .25, "test_mse/0.15": .5}}))
	records, err := ReadMetrics[Record](r.Reader)
	if err != nil || len(records) != 2 || records[0].Measures["test_mse/0.15"] != 1 ||
		records[1].Measures["test_mse/0.15"] != .5 || !math.IsNaN(records[1].Measures.Get("modularity")) {
		t.Errorf("%+v, %v", records, err)
	}
	expect.Equal(t, "the file begins with", string(expect.Must(os.ReadFile(r.path(metricsFile)))[:len(oldMasked)]),
		oldMasked)
}

// TestReleasedResult reads a result of torchpe 0.1.0, whose seal is of its old keys.
func TestReleasedResult(t *testing.T) {
	r := expect.Must(Open(filepath.Join("..", "..", "cmd", "torchpe", "testdata", "released", "done")))
	defer r.Close()
	result := expect.Must(r.Result())
	m := result.Members[0].Measures // from result.json
	if m.Get("validation") != 1./3 || m.Get("train") != 0.4125 || m.Get("validation/3-vector") != 0 ||
		m.Get("noise/0.5") != 0.26666666666666666 || m.Get("pe_start_cosine/0") != 0.022074243922327274 {
		t.Errorf("%v", m)
	}
}
