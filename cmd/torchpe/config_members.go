package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/train"
	"torchpe/train/config"
)

// memberFlags holds the flags that make the members of the ensemble.
type memberFlags struct {
	seeds []string
	count memberCount
}

// add declares the flags. --seed, of 0.1.0, is another name of --seeds.
func (f *memberFlags) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.seeds, "seeds", []string{"1"}, "seeds to train: numbers, ranges as 1:3, or "+
		"the word paper for the 15 of the published runs")
	f.count.n = 1
	fl.Var(&f.count, "members", "number of seeds, which count up from that of --seeds, trained together as one "+
		"ensemble; auto measures the best number")
}

// nameSeeds makes a set of flags take --seed for --seeds.
func nameSeeds(fl *pflag.FlagSet) {
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "seed" {
			name = "seeds"
		}
		return pflag.NormalizedName(name)
	})
}

// setMembers makes the members that seeds and the settings of members ask for. Without flags for
// them, those of --config stay. A sigma that is not nil is that of all members.
func (f *configFlags) setMembers(c *train.Config, given map[string]bool, sigma *float64) error {
	values := map[string][]float64{}
	longest := 0
	for _, s := range config.MemberSettings() {
		if given[s.Flag] && c.Unused(s.Flag) == "" {
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
	if longest == 0 && f.file != "" && !given["seeds"] && !given["members"] {
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

// memberSeeds returns the seed of each member. One seed counts up for --members, and is that of all for
// several values of a setting.
func (f *configFlags) memberSeeds(given map[string]bool, values int) ([]uint64, error) {
	seeds, err := config.ParseSeeds(strings.Join(f.members.seeds, ","))
	if err != nil {
		return nil, fmt.Errorf("--seeds: %w", err)
	}
	n := f.members.count.n
	switch {
	case !given["members"] && len(seeds) == 1 && values > 1:
		return slices.Repeat(seeds, values), nil
	case !given["members"] || f.members.count.auto:
		return seeds, nil
	case len(seeds) == 1:
		for i := range uint64(n - 1) {
			seeds = append(seeds, seeds[0]+i+1)
		}
	case len(seeds) != n:
		return nil, fmt.Errorf("--members %d, but --seeds %s has %d", n, strings.Join(f.members.seeds, ","), len(seeds))
	}
	return seeds, nil
}

// decimalComma returns a note where two values of a member's setting look like one number whose decimal
// sign is a comma, as 0,2 does; else "".
func (f *configFlags) decimalComma(given map[string]bool) string {
	if given["seeds"] || given["members"] {
		return ""
	}
	for _, s := range config.MemberSettings() {
		v := f.values[s.Flag].Numbers()
		if given[s.Flag] && len(v) == 2 && v[0] == 0 && v[1] == math.Trunc(v[1]) {
			return fmt.Sprintf("--%s makes two models, with 0 and %g; is this a decimal comma? Then write a point",
				s.Flag, v[1])
		}
	}
	return ""
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
	if len(c.Members) > 1 {
		return usagef("--members auto and several --seeds both say how many members there are: give one of them")
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
