package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Flags of the PE's learning become keys of config.json, and a note says that sigma has no effect.
func TestOwnLearningFlags(t *testing.T) {
	dir := t.TempDir()
	line := "train --limit-steps 3 --device cpu --noise none --quiet --out run" + smallSet(t, dir)
	says(t, dir, line+"--pe-init matched:2d-fixed --sigma 1 --pe-lr 1e-4,0 --pe-weight-decay 0.1 --pe-warmup-steps 0 "+
		"--warmup-steps 5 --pe-dropout 0.2 --init-scale 0.5", 0,
		"2>--sigma has no effect with --pe-init matched:2d-fixed")
	var c map[string]any
	expect.NoError(t, json.Unmarshal([]byte(readText(t, filepath.Join(dir, "run", "config.json"))), &c))
	for key, want := range map[string]any{"pe_init": "matched:2d-fixed", "pe_warmup_steps": 0.0,
		"pe_dropout": 0.2, "init_scale": 0.5} {
		expect.Equal(t, key, c[key], want)
	}
	members := c["members"].([]any)
	for i, lr := range []float64{1e-4, 0} {
		if m := members[i].(map[string]any); len(members) != 2 || m["pe_lr"] != lr ||
			m["pe_weight_decay"] != 0.1 || m["seed"] != 1.0 {
			t.Errorf("member %d is %v", i, m)
		}
	}
	says(t, dir, line+"--resume --pe-dropout 0.3", exitUsage, "would be 0.3")
}

// A flag without effect is noted, whatever it lacks, and the configuration is that without it.
func TestFlagsWithoutEffect(t *testing.T) {
	for _, c := range []struct{ without, flags, note string }{
		{"--pe rope", "--sigma 1", "--sigma has no effect on rope"},
		{"--pe rope", "--pe-init zeros", "on rope, which has no learned table that starts with sigma"},
		{"--pe rope", "--pe-dropout 0.1", "on rope, which has no learned table"},
		{"--pe nope", "--pe-lr 1e-4", "on nope, which has no trained parameters"},
		{"--pe nope", "--pe-lr 1e-4,1e-3", "on nope, which has no trained parameters"},
		{"--pe nope", "--pe-warmup-steps 5", "on nope, which has no trained parameters"},
		{"--pe rope", "--tisa-kernels 3", "--tisa-kernels has no effect on rope"},
		{"--pe relative", "--relative-clip 4", "--relative-clip has no effect with --relative skew"},
		{"--pe rope-yarn --rope-yarn dynamic", "--rope-scale 4", "--rope-scale has no effect with --rope-yarn dynamic"},
		{"--preset nmar", "--eval-tokens 25", "--eval-tokens has no effect on task nmar"},
		{"--preset nmar", "--noise 0.5", "--noise has no effect on task nmar"},
		{"--preset nmar", "--lst-side 5", "--lst-side has no effect on task nmar"},
		{"--preset nmar", "--read-out probe", "--read-out has no effect on task nmar"},
		{"--preset quick", "--mask-level 0.3", "--mask-level has no effect on task lst"},
		{"--preset quick", "--steps 3", "--steps has no effect on task lst"},
		{"--preset nmar", "--epochs 3", "--epochs has no effect on task nmar"},
		{"--preset nmar --mask-token zero", "--mask-sd 0.5", "--mask-sd has no effect without --mask-token learned"},
		{"--task text --pe learn --data learning_test.go", "--data-seed 5", "--data-seed has no effect on texts"},
		{"--pe nope", "--sigma 0.1,2", "--sigma has no effect on nope"},
		{"--pe-init zeros", "--sigma 0.1,2", "--sigma has no effect with --pe-init zeros"},
	} {
		want := says(t, ".", "train --dry-run "+c.without, 0)
		expect.Equal(t, fmt.Sprintf("%s %s", c.without, c.flags),
			says(t, ".", "train --dry-run "+c.without+" "+c.flags, 0, "2>"+c.note), want)
	}
}

// --seeds says which seeds are trained, --members how many; --seed is another name of --seeds.
func TestSeedFlags(t *testing.T) {
	for _, c := range []struct{ flags, seeds, sigmas, note string }{
		{"", "[1]", "[0.2]", ""},
		{"--seeds 3", "[3]", "[0.2]", ""},
		{"--seed 3", "[3]", "[0.2]", ""},
		{"--members 3", "[1 2 3]", "[0.2 0.2 0.2]", ""},
		{"--seed 5 --members 3", "[5 6 7]", "[0.2 0.2 0.2]", ""},
		{"--seeds 1:3,9 --members 4", "[1 2 3 9]", "[0.2 0.2 0.2 0.2]", ""},
		{"--seeds 4 --sigma 0.1:0.3:0.1", "[4 4 4]", "[0.1 0.2 0.3]", ""},
		{"--sigma 0,2", "[1 1]", "[0 2]", "--sigma trains two models, with 0 and 2; is this a decimal comma?"},
		{"--sigma 0,2 --seeds 5", "[5 5]", "[0 2]", "is this a decimal comma?"},
		{"--sigma 0,2 --members 2", "[1 2]", "[0 2]", ""},
	} {
		seeds, sigmas, errs := membersAsked(t, t.TempDir(), "--preset quick "+c.flags)
		if seeds != c.seeds || sigmas != c.sigmas || !strings.Contains(errs, c.note) || c.note == "" && errs != "" {
			t.Errorf("%s: %s %s, %s", c.flags, seeds, sigmas, errs)
		}
	}
	says(t, t.TempDir(), "sweep --preset quick --pe learn --sigma 0,2 --dry-run --no-calibrate --out o", 0,
		"2>--sigma 0,2 is two values; is this a decimal comma?")
	_, _, errs := membersAsked(t, t.TempDir(), "--pe nope --sigma 0,2")
	if strings.Contains(errs, "decimal comma") {
		t.Errorf("two models where sigma has no effect: %s", errs)
	}
}

// membersAsked returns the seeds and sigmas of the models that flags of train ask for, and what train says.
func membersAsked(t *testing.T, dir, flags string) (seeds, sigmas, errs string) {
	t.Helper()
	var got struct {
		Members []struct {
			Seed  int
			Sigma float64
		}
	}
	errs = saysJSON(t, dir, "train --dry-run "+flags, &got)
	var seed []int
	var sigma []float64
	for _, m := range got.Members {
		seed, sigma = append(seed, m.Seed), append(sigma, m.Sigma)
	}
	return fmt.Sprint(seed), fmt.Sprint(sigma), errs
}

// TestMembersOfConfig: what no flag sets stays as in --config, for each member.
func TestMembersOfConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, flags string) {
		text := says(t, dir, "train --preset quick --dry-run "+flags, 0)
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("one.json", "--seeds 7")
	write("three.json", "--seeds 4,2,9")
	write("mixed.json", "--seeds 4,2 --sigma 0.1,0.5 --lr 1e-3,1e-4")
	write("sigmas.json", "--seeds 4 --sigma 0.1,0.5")
	for _, c := range []struct{ flags, seeds, sigmas string }{
		{"one.json --sigma 0.5", "[7]", "[0.5]"}, {"one.json --sigma 1,2", "[7 7]", "[1 2]"},
		{"one.json --members 2", "[7 8]", "[0.2 0.2]"}, {"three.json --lr 1e-4", "[4 2 9]", "[0.2 0.2 0.2]"},
		{"three.json --pe learn-0.3", "[4 2 9]", "[0.3 0.3 0.3]"}, {"three.json --seeds 5", "[5]", "[0.2]"},
		{"three.json --sigma 1,2,3", "[4 2 9]", "[1 2 3]"}, {"mixed.json --pe-lr 1e-4", "[4 2]", "[0.1 0.5]"},
		{"mixed.json --seeds 1,2,3 --sigma 2 --lr 1e-4", "[1 2 3]", "[2 2 2]"},
		{"sigmas.json --pe rope --seeds 4", "[4]", "[0]"}, {"sigmas.json --sigma 0.3 --seeds 4", "[4]", "[0.3]"},
		{"sigmas.json --pe-init zeros --seeds 4", "[4]", "[0]"},
	} {
		seeds, sigmas, _ := membersAsked(t, dir, "--config "+c.flags)
		expect.Equal(t, c.flags, seeds+sigmas, c.seeds+c.sigmas)
	}
	const oneModel = "sigmas.json has several members of seed 4, which would be one model here: give the seeds " +
		"to train, such as --seeds 4"
	for flags, want := range map[string]string{
		"mixed.json --seeds 5":        "mixed.json has members that differ in sigma, not only in the seed: give",
		"three.json --members 2":      "--members 2, but --config has 3: give --seeds with the seeds to train",
		"three.json --sigma 0.1,1":    "--sigma: 2 values for 3 members",
		"sigmas.json --pe rope":       "torchpe: " + oneModel,
		"sigmas.json --sigma 0.3":     "torchpe: " + oneModel,
		"sigmas.json --pe-init zeros": "torchpe: " + oneModel,
	} {
		says(t, dir, "train --dry-run --config "+flags, 2, "2>"+want)
	}
}
