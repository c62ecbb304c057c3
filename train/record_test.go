package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// readEvents reads the event files of a run, whose members' names are in order, with a decoder in
// Python that knows the format alone, and checks that there is one event a record. It returns what
// must not depend on how often a run was stopped, by folder.
func readEvents(t *testing.T, dir string) map[string]any {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("no python3: event files are not read")
		return nil
	}
	if !expect.Must(ReadConfig(filepath.Join(dir, "config.json"))).TensorBoard {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(dir, "tensorboard", "*", "events.out.tfevents.*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("event files %v, %v", paths, err)
	}
	script := filepath.Join("runlog", "testdata", "decode.py")
	decode := exec.Command(python, append([]string{"-S", "-E", script}, paths...)...)
	decode.Stderr = os.Stderr
	out := expect.Must(decode.Output())
	var files [][]struct {
		Step    int
		Scalars [][2]any
	}
	expect.NoError(t, json.Unmarshal(out, &files))
	records := recordsOf(t, dir)
	events := map[string]any{}
	for i, file := range files {
		own := slices.DeleteFunc(slices.Clone(records), func(r runlog.Record) bool { return r.Member != i })
		if len(file)-1 != len(own) {
			t.Errorf("%s: %d events for %d records", paths[i], len(file)-1, len(own))
			continue
		}
		for k, e := range file[1:] {
			expect.Equal(t, fmt.Sprintf("%s: event %d is of step", paths[i], k), e.Step, own[k].Step)
			file[k+1].Scalars = slices.DeleteFunc(e.Scalars, func(s [2]any) bool { return s[0] == "time/step_ms" })
		}
		events[filepath.Base(filepath.Dir(paths[i]))] = file
	}
	return events
}

// A Board that cannot be written is said once, and changes nothing else.
func TestTrainingWithoutABoard(t *testing.T) {
	c := tiny(t, "learn")
	c.Epochs = 2
	base := t.TempDir()
	bad := filepath.Join(base, "bad")
	expect.NoError(t, errors.Join(os.Mkdir(bad, 0o777), os.WriteFile(filepath.Join(bad, "tensorboard"), nil, 0o666)))
	records := 0
	for _, kind := range []string{"good", "bad", "off"} {
		dir, heard := filepath.Join(base, kind), &listener{}
		c.TensorBoard = kind != "off"
		expect.Must(Run(t.Context(), c, dir, Options{Observer: heard}))
		if said := strings.Contains(strings.Join(heard.notices, ""), "without event files"); said != (kind == "bad") ||
			len(heard.notices) > 1 {
			t.Errorf("%s: notices %q", kind, heard.notices)
		}
		if n := len(recordsOf(t, dir)); kind == "good" {
			records = n
			readFinal(t, dir)
		} else if n != records || n == 0 {
			t.Errorf("%s: %d records, want %d", kind, n, records)
		}
	}
	expect.ErrorIs(t, expect.ErrorOf(os.Lstat(filepath.Join(base, "off", "tensorboard"))), fs.ErrNotExist)
}

func TestCurves(t *testing.T) {
	small, large := 0.2, 1.0
	for _, v := range []struct {
		members []Member
		want    string
	}{
		{[]Member{{Seed: 1, Sigma: &small, LR: 1e-4}, {Seed: 2, Sigma: &large, LR: 1e-4}},
			"learn-0.2_seed1 learn-1_seed2"},
		{[]Member{{Seed: 1, LR: 1e-4}, {Seed: 1, LR: 1e-3}}, "learn_seed1_lr0.0001 learn_seed1_lr0.001"},
		{[]Member{{Seed: 1, LR: 1e-4}, {Seed: 1, LR: 1e-4, PELR: &small, PEWeightDecay: &large}},
			"learn_seed1_pelr0.0001_pewd0 learn_seed1_pelr0.2_pewd1"},
		{[]Member{{Seed: 1}, {Seed: 1, WeightDecay: .1}, {Seed: 1}},
			"learn_seed1_wd0 learn_seed1_wd0.1 learn_seed1_wd0_member2"},
	} {
		expect.Equal(t, "curves",
			strings.Join(curveNames(Config{config.Config{EncodingConfig: config.EncodingConfig{PE: "learn",
				Members: v.members}}}), " "), v.want)
	}
}
