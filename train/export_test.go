package train

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/data/series"
	"torchpe/internal/expect"
	"torchpe/models/export"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// A member that is exported and imported again is a run with the same bits of its weights, tables,
// attention and predictions.
func TestExportAndImportGiveTheRunBack(t *testing.T) {
	lst, nmar := tiny(t, "learn"), tinyMasked(t, "rope+learn")
	second := lst.Members[0]
	second.Seed++
	lst.Members = append(lst.Members, second)
	for name, c := range map[string]Config{"lst": lst, "nmar": nmar,
		"sequence": tinySequence(t, "reverse-string", "rope"), "text": tinyText(t, "alibi")} {
		t.Run(name, func(t *testing.T) {
			dir, result := runTiny(t, c)
			member, members := len(c.Members)-1, len(c.Members)
			twin, back := filepath.Join(t.TempDir(), "twin"), filepath.Join(t.TempDir(), "back")
			x := expect.Must(Export(dir, member, twin))
			again := expect.Must(Import(twin, back, Options{}))
			expect.Equal(t, "the characters are", expect.Must(export.ReadRun(twin)).Characters,
				map[string]string{"text": "abc"}[name])
			expect.Equal(t, "number of names", len(expect.Must(export.ReadRun(twin)).TokenNames),
				map[string]int{"nmar": 15}[name])
			if x.Step != result.Members[member].Steps || again.Members[0].Steps != x.Step {
				t.Errorf("%d steps, exported %d, imported %d", result.Members[member].Steps, x.Step,
					again.Members[0].Steps)
			}
			if got, want := again.Members[0], result.Members[member]; name != "nmar" &&
				(got.Measures["validation"] != want.Measures["validation"] ||
					got.Measures["iid"] != want.Measures["iid"]) ||
				name == "lst" && !(got.Measures["train"] > 0) {
				t.Errorf("validation accuracy %g, want %g; of training %g", got.Measures["validation"],
					want.Measures["validation"], got.Measures["train"])
			}
			if name == "lst" { // a model that has hardly learned guesses one of four
				first := memberRecords(t, back, 0)[0]["measures"].(map[string]any)
				expect.Near(t, "the loss over the puzzles of training", first["loss"].(float64), math.Log(4), 0.5)
			}
			was, now := checkpointOf(t, dir), checkpointOf(t, back)
			for _, tensor := range was.Tensors {
				if strings.HasPrefix(tensor.Name, "w/") {
					sameMember(t, now.File, tensor, member, members)
				}
			}
			compareProbes(t, dir, back, member, members)
		})
	}
}

// sameMember compares a member's part of a tensor with the tensor of that name in a file of one
// member.
func sameMember(t *testing.T, f *safetensors.File, all safetensors.Tensor, member, members int) {
	t.Helper()
	one, ok := f.Tensor(all.Name)
	part, err := runlog.MemberPart(all, member, members)
	if err != nil || !ok || !bytes.Equal(one.Data, part.Data) {
		t.Errorf("%s differs", all.Name)
	}
}

func compareProbes(t *testing.T, dir, back string, member, members int) {
	t.Helper()
	now := expect.Must(opened(t, back).LoadProbes())
	for _, tensor := range expect.Must(opened(t, dir).LoadProbes()).Tensors {
		sameMember(t, now, tensor, member, members)
	}
}

// Data that have changed since may place the tokens otherwise: the model would be another.
func TestExportOfChangedData(t *testing.T) {
	c := tinyMasked(t, "learn")
	rows := strings.Repeat("1,2,4\n2,5,1\n7,3,3\n", 20)
	file := expect.File(t, "a.csv", "a,b,c\n"+rows)
	c.Steps, c.Task, c.Masked.NMAR, c.Masked.Files = 2, "masked", nil, &series.Source{Data: []string{file}}
	dir, _ := runTiny(t, c)
	twin := filepath.Join(t.TempDir(), "twin")
	expect.Must(Export(dir, 0, twin))
	expect.NoError(t, os.WriteFile(file, []byte("a,c,b\n"+strings.Repeat("1,4,2\n2,1,5\n7,3,3\n", 20)), 0o600))
	expect.Error(t, expect.ErrorOf(Export(dir, 0, twin)), "its data have changed since training")
}

// Of a run whose data have a relative path, another folder is said to be the wrong one; not of a path given anew.
func TestRelativePathsFromElsewhere(t *testing.T) {
	c, folder := tinyFiles(t, map[string]string{"x.csv": tableText(60, 1)})
	t.Chdir(folder)
	c.Masked.Files.Data = []string{"x.csv"}
	dir := filepath.Join(t.TempDir(), "run")
	stopAfter(t, c, dir, 2)
	t.Chdir(t.TempDir())
	want := "x.csv: no such file or directory: " + filepath.Join(dir, "config.json") +
		" has this path, relative to the folder in which the run was trained: run the command there"
	twin := filepath.Join(t.TempDir(), "twin")
	expect.Error(t, expect.ErrorOf(Export(dir, 0, twin)), want)
	resumed := func(c Config) error { return expect.ErrorOf(Run(t.Context(), c, dir, Options{Resume: true})) }
	expect.Error(t, resumed(c), want)
	c.Masked.Files.Data = []string{"y.csv"}
	if err := resumed(c); err == nil || !strings.HasSuffix(err.Error(), "y.csv: no such file or directory") {
		t.Error(err)
	}
}

// Import reads what was changed, writes where the weights are from, and refuses other data, a folder
// that holds a run and a state dict that does not fit, without writing anything. Export refuses a
// member that there is not.
func TestImportOfChangedWeights(t *testing.T) {
	dir, _ := runTiny(t, tiny(t, "learn"))
	twin, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	var refused *ConfigError
	if _, err := Export(dir, 7, twin); !errors.As(err, &refused) || !strings.Contains(err.Error(), "member 7") {
		t.Errorf("member 7: %v", err)
	}
	expect.Must(Export(dir, 0, twin))
	path := filepath.Join(twin, export.WeightsFile)
	f := expect.Must(safetensors.Read(path))
	for i, x := range f.Tensors {
		if x.Name == "pe.table" {
			f.Tensors[i] = expect.Must(safetensors.New(x.Name, x.Shape, slices.Repeat([]float32{0.5}, len(x.Data)/4)))
		}
	}
	expect.NoError(t, safetensors.Write(path, f.Tensors, nil))
	expect.Must(Import(twin, back, Options{}))
	_, table := probed(t, back, "pe/0")
	expect.Equal(t, "the table of the probes has", table[3], 0.5)
	expect.Contains(t, strings.Join(environments(t, back)[0].Changed, ""), "weights imported from "+path)
	expect.ErrorIs(t, expect.ErrorOf(Import(twin, back, Options{})), runlog.ErrExists)
	config := filepath.Join(twin, export.ConfigFile)
	text := expect.Must(os.ReadFile(config))
	sum := checkpointOf(t, dir).Metadata["data_sha256"]
	other := bytes.ReplaceAll(text, []byte(sum), []byte(strings.Repeat("0", len(sum))))
	expect.NoError(t, os.WriteFile(config, other, 0o666))
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	var data *DataError
	if _, err := Import(twin, nowhere, Options{}); !errors.As(err, &data) {
		t.Errorf("other data: %v", err)
	}
	expect.NoError(t, errors.Join(os.WriteFile(config, text, 0o666), safetensors.Write(path, f.Tensors[1:], nil)))
	expect.Error(t, expect.ErrorOf(Import(twin, nowhere, Options{})), "it is missing")
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(nowhere)), os.ErrNotExist)
}

// How far a table has moved from one that was taken is the same after export and import. It is not measured if the
// run that it was taken from has other members.
func TestImportMovedFromTaken(t *testing.T) {
	c := tiny(t, "learn")
	c.Members = c.Members[:1]
	source, _ := runTiny(t, c)
	c.From = &config.FromConfig{Run: source, Take: "all"}
	dir, trained := runTiny(t, c)
	twin, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	expect.Must(Export(dir, 0, twin))
	imported := expect.Must(Import(twin, back, Options{}))
	const moved = "pe_moved/0"
	expect.Equal(t, moved, imported.Members[0].Measures.Get(moved), trained.Members[0].Measures.Get(moved))

	c.Members = twoMembers()
	c.From = nil
	source, _ = runTiny(t, c)
	c.From = &config.FromConfig{Run: source, Take: "all"}
	dir, _ = runTiny(t, c)
	twin, back = t.TempDir(), filepath.Join(t.TempDir(), "back")
	expect.Must(Export(dir, 0, twin))
	if v := expect.Must(Import(twin, back, Options{})).Members[0].Measures.Get(moved); !math.IsNaN(v) {
		t.Errorf("of one of two: %v", v)
	}
}

// Of a member that diverged, Export says the steps that it made and that it diverged, and Import refuses
// it; where it says no more that it did, it is an import as others.
func TestExportOfADivergedMember(t *testing.T) {
	dir, result := runTiny(t, variedSteps(t)["a member that diverges"])
	at := result.Members[1].DivergedAtStep
	twin, back := t.TempDir(), filepath.Join(t.TempDir(), "back")
	x, err := Export(dir, 1, twin)
	if err != nil || at == 0 || x.DivergedAtStep != at || x.Step != at-1 {
		t.Errorf("diverged at step %d: exported %+v, %v", at, x, err)
	}
	x, err = Export(dir, 0, t.TempDir())
	if want := result.Members[0].Steps; err != nil || x.Step != want || want < at || x.DivergedAtStep != 0 {
		t.Errorf("the other, of %d steps: exported %+v, %v", want, x, err)
	}
	var refused *ConfigError
	_, err = Import(twin, back, Options{})
	if want := fmt.Sprintf("diverged at step %d", at); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	expect.ErrorIs(t, expect.ErrorOf(os.Stat(back)), os.ErrNotExist)
	path, said := filepath.Join(twin, export.ConfigFile), fmt.Sprintf(`,"diverged_at_step":%d`, at)
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte(said)) {
		t.Fatalf("no %s in %s (%v)", said, text, err)
	}
	expect.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(said), nil, 1), 0o666))
	again := expect.Must(Import(twin, back, Options{}))
	expect.Equal(t, "imported", fmt.Sprint(again.Members[0].Status, again.Members[0].Steps),
		fmt.Sprint(runlog.StatusDone, at-1))
}

// The example in config.json is that of float32 products, whichever the run had.
func TestExampleIsExact(t *testing.T) {
	c := tiny(t, "learn")
	c.Precision = "bf16"
	dir, _ := runTiny(t, c)
	exampleOf := func() string {
		out := t.TempDir()
		expect.Must(Export(dir, 0, out))
		text := expect.Must(os.ReadFile(filepath.Join(out, export.ConfigFile)))
		_, text, _ = bytes.Cut(text, []byte(`"example": `))
		text, _, _ = bytes.Cut(text, []byte("\n"))
		return string(text)
	}
	rounded := exampleOf()
	path := filepath.Join(dir, "config.json")
	text := expect.Must(os.ReadFile(path))
	expect.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte(`"bf16"`), []byte(`"fp32"`), 1), 0o600))
	// A finished run whose settings were edited is refused; one without the hash of an earlier version is not.
	expect.ErrorIs(t, expect.ErrorOf(Export(dir, 0, t.TempDir())), runlog.ErrConfigChanged)
	unsealResult(t, dir)
	if exact := exampleOf(); exact != rounded || !strings.Contains(exact, "output") {
		t.Errorf("%s, in float32 %s", rounded, exact)
	}
}

// unsealResult takes the checksums out of result.json, as earlier versions wrote it.
func unsealResult(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "result.json")
	object := expect.Must(runlog.ParseObject(expect.Must(os.ReadFile(path))))
	expect.NoError(t, os.WriteFile(path, object.Without("config_sha256", "metrics_crc32c", "crc32c").Text(), 0o600))
}

// An import that is killed at its n-th operation on files, n = 1, 2, ..., leaves no run, and the
// repeat makes the run that an import makes which is left alone; or the whole run is there.
func TestImportKilledAtEveryOperation(t *testing.T) {
	c := tiny(t, "learn")
	c.Epochs, c.Noise = 1, nil
	dir, _ := runTiny(t, c)
	twin, whole := filepath.Join(t.TempDir(), "twin"), filepath.Join(t.TempDir(), "whole")
	expect.Must(Export(dir, 0, twin))
	expect.Must(Import(twin, whole, Options{}))
	want := readFinal(t, whole)
	for n := 1; ; n++ {
		back := filepath.Join(t.TempDir(), "back")
		x := expect.Faults{N: n, Err: expect.ErrCrash, Of: expect.Changes}
		err := x.During(func() error {
			_, err := Import(twin, back, Options{})
			return err
		})
		if x.Done < n {
			if err != nil || n < 20 {
				t.Errorf("%d operations: %v", n-1, err)
			}
			return
		}
		killed := fmt.Sprintf("killed at operation %d (%s)", n, x.First)
		r, err := runlog.Open(back)
		if err == nil {
			if !r.Complete() {
				t.Errorf("%s: a run without a result", killed)
			}
			r.Close()
			sameFinal(t, readFinal(t, back), want)
			continue
		}
		expect.ErrorIs(t, err, runlog.ErrNoRun)
		switch n % 6 {
		case 0: // what trains there is no import
			resume(t, c, back)
			sameFinal(t, readFinal(t, back), readFinal(t, dir))
			expect.Equal(t, fmt.Sprintf("%s, trained there: changed", killed), environments(t, back)[0].Changed,
				nil)
		case 2, 4:
			expect.Must(Import(twin, back, Options{}))
			sameFinal(t, readFinal(t, back), want)
		}
	}
}
