package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// A mean in the log is over the seeds of one configuration: members of another sigma or learning
// rate have their own.
func TestLogAveragesSeedsOnly(t *testing.T) {
	small, large := 0.2, 2.0
	var c train.Config
	c.PE, c.Epochs, c.Members = "learn", 4, []train.Member{
		{Seed: 1, Sigma: &small}, {Seed: 2, Sigma: &small}, {Seed: 1, Sigma: &large}, {Seed: 2, Sigma: &large},
	}
	record := func(member int, train float64) runlog.Record {
		return runlog.Record{Step: 64, Epoch: 1, Member: member, Measures: runlog.Numbers{
			"train": train, "validation": train / 2, "iid": math.NaN(), "loss": 1}}
	}
	var out bytes.Buffer
	p := newProgress(&out, c, false)
	p.Started(0, 256)
	p.Logged([]runlog.Record{record(0, .9), record(1, .7), record(2, .3), record(3, .1)})
	expect.Contains(t, out.String(), "learn-0.2: loss 1.0000, train 0.800, validation 0.400;",
		"learn-2.0: loss 1.0000, train 0.200, validation 0.100")
	if strings.Contains(out.String(), "0.500") {
		t.Errorf("a mean over sigmas: %s", out.String())
	}
}

// A member that was stopped keeps its last numbers in the mean, as it does in reports.
func TestLogKeepsStoppedMembers(t *testing.T) {
	var c train.Config
	c.PE, c.Epochs, c.Until, c.Members = "nope", 9, "train=0.9", []train.Member{{Seed: 1}, {Seed: 2}}
	record := func(member, epoch int, train float64) runlog.Record {
		return runlog.Record{Step: 64 * epoch, Epoch: epoch, Member: member,
			Fit:      &runlog.Fit{Criterion: c.Until, Reached: train >= .9},
			Measures: runlog.Numbers{"train": train, "loss": 1}}
	}
	var out bytes.Buffer
	p := newProgress(&out, c, false)
	p.Started(0, 576)
	p.Logged([]runlog.Record{record(0, 1, .9), record(1, 3, .4)})
	expect.Contains(t, out.String(), "epoch 3/9 step 192 loss 1.0000, train 0.650, train=0.9: 1 of 2 (")
}

// A run of one seed says which, and calls sigma as its folder does.
func TestLabelOfOneSeed(t *testing.T) {
	sigma := 2.0
	var c train.Config
	c.PE, c.Fidelity, c.Members = "learn", "code", []train.Member{{Seed: 3, Sigma: &sigma}}
	var out bytes.Buffer
	newProgress(&out, c, false).Started(0, 254)
	if out.String() != "learn-2.0 seed 3: step 0 of 254\n" ||
		!strings.HasSuffix(defaultName(c), "learn-2.0_code_seed3") {
		t.Errorf("%s%s", out.String(), defaultName(c))
	}
	other := 0.5
	c.Members = append(c.Members, train.Member{Seed: 3, Sigma: &other})
	if name := defaultName(c); !strings.HasSuffix(name, "_learn_code_seed3_members2") {
		t.Error(name)
	}
}

// How long a run takes is told once, before its first record.
func TestForecast(t *testing.T) {
	var c train.Config
	c.Device, c.Members, c.Masked = "cpu", []train.Member{{}}, &config.MaskedConfig{}
	for _, test := range []struct {
		took  time.Duration
		total int
		want  []string
	}{
		{9 * time.Second, 50000, nil},
		{20 * time.Second, 50001, []string{"step 1 of 50001, 20s per step: about 11.6 days left"}},
		{20 * time.Second, 61, []string{"about 20 minutes left"}},
	} {
		var out bytes.Buffer
		p := newProgress(&out, c, false)
		p.Started(0, test.total)
		out.Reset()
		p.started = time.Now().Add(-test.took)
		p.Stepped(1)
		first := out.String()
		p.Stepped(1)
		if out.String() != first || test.want == nil && first != "" {
			t.Errorf("%v: %q", test.took, out.String())
		}
		expect.Contains(t, first, test.want...)
	}
}
