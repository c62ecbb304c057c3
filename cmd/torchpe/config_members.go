package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/train"
	"torchpe/train/config"
)

// memberFlags holds the flags that make the members of the ensemble.
type memberFlags struct {
	seeds []string
	count int
}

// add declares the flags. --seed, of 0.1.0, is another name of --seeds.
func (f *memberFlags) add(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.seeds, "seeds", []string{"1"}, "seeds to train: numbers, ranges as 1:3, or "+
		"the word paper for the 15 of the published runs")
	f.count = 1
	fl.Var(bounded{&f.count, 1, maxMembers}, "members", "number of seeds, which count up from that of --seeds, "+
		"trained together as one ensemble")
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
	n := f.members.count
	switch {
	case !given["members"] && len(seeds) == 1 && values > 1:
		return slices.Repeat(seeds, values), nil
	case !given["members"]:
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
