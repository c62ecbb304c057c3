package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
)

// memberFlags holds the flags that make the members of the ensemble.
type memberFlags struct {
	seed  uint64
	seeds []string
	count memberCount
}

// add declares the flags.
func (f *memberFlags) add(fl *pflag.FlagSet) {
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the first member; the next ones count up")
	fl.StringSliceVar(&f.seeds, "seeds", nil, "seeds of all members, or the word paper for the 15 of "+
		"the published runs")
	f.count.n = 1
	fl.Var(&f.count, "members", "seeds trained together as one ensemble; auto measures the best number")
}

// setMembers makes the members that seeds and the settings of members ask for. Without flags for
// them, those of --config stay. A sigma that is not nil is that of all members.
func (f *configFlags) setMembers(c *train.Config, given map[string]bool, sigma *float64) error {
	values := map[string][]float64{}
	longest := 0
	for _, s := range config.MemberSettings() {
		if given[s.Flag] {
			values[s.Flag] = f.values[s.Flag].Numbers()
			longest = max(longest, len(values[s.Flag]))
			if f.members.count.auto && len(values[s.Flag]) != 1 {
				return fmt.Errorf("--%s: %d values, but --members auto takes one", s.Flag, len(values[s.Flag]))
			}
		}
	}
	if sigma != nil {
		values["sigma"], longest = []float64{*sigma}, max(1, longest)
	}
	if longest == 0 && f.file != "" && !given["seed"] && !given["seeds"] && !given["members"] {
		return nil
	}
	seeds, err := f.memberSeeds(given, longest)
	if err != nil {
		return err
	}
	members, err := config.NewMembers(c.Members[0], seeds, values)
	if err != nil {
		return err
	}
	c.Members = members
	return nil
}

// maxMembers bounds the size of an ensemble: more is a typing error.
const maxMembers = 4096

// memberSeeds returns the seed of each member. Several values of a setting, without flags for seeds,
// make one member each, all of one seed.
func (f *configFlags) memberSeeds(given map[string]bool, values int) ([]uint64, error) {
	if given["seeds"] {
		if given["seed"] {
			return nil, fmt.Errorf("--seed and --seeds both give seeds: give one of them")
		}
		seeds, err := config.ParseSeeds(f.members.seeds)
		if err != nil {
			return nil, fmt.Errorf("--seeds: %w", err)
		}
		if given["members"] && !f.members.count.auto && f.members.count.n != len(seeds) {
			names := "--seeds names"
			if slices.Equal(f.members.seeds, []string{"paper"}) {
				names = "--seeds paper has"
			}
			return nil, fmt.Errorf("--members %d, but %s %d", f.members.count.n, names, len(seeds))
		}
		return seeds, nil
	}
	n, step := f.members.count.n, uint64(1)
	if !given["members"] && values > 1 {
		n, step = values, 0
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = f.members.seed + uint64(i)*step
	}
	return seeds, nil
}

// memberCount is the value of --members: a number, or the word auto.
type memberCount struct {
	n    int
	auto bool
}

// Set reads a number or the word auto, which stands for one until it is measured.
func (m *memberCount) Set(text string) error {
	if text == "auto" {
		*m = memberCount{n: 1, auto: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxMembers {
		return fmt.Errorf("want a number from 1 to %d, or the word auto", maxMembers)
	}
	*m = memberCount{n: n}
	return nil
}

// String writes what Set reads.
func (m *memberCount) String() string {
	if m.auto {
		return "auto"
	}
	return strconv.Itoa(m.n)
}

// Type names the value in --help.
func (m *memberCount) Type() string { return "int|auto" }

// chooseMembers sets the number of members for --members auto: it measures how many a device trains
// best, and reports the measurements.
func (f *configFlags) chooseMembers(c *train.Config, say io.Writer) error {
	if !f.members.count.auto {
		return nil
	}
	if f.given()["seeds"] {
		return usagef("--members auto and --seeds both say how many members there are: give one of them")
	}
	n, tried, err := train.BestMembers(*c)
	for _, m := range tried {
		if m.Err != nil {
			fmt.Fprintf(say, "torchpe: %s: %v\n", wording.Count(m.Members, "member"), m.Err)
			continue
		}
		fmt.Fprintf(say, "torchpe: %s: %.2f ms a step, %.2f ms a member\n",
			wording.Count(m.Members, "member"), m.StepMS, m.StepMS/float64(m.Members))
	}
	if err != nil {
		return err
	}
	*c = c.WithMembers(n)
	fmt.Fprintf(say, "torchpe: --members auto chose %d\n", n)
	return nil
}
