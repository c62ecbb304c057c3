package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/lst"
	"torchpe/internal/layers"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train"
	"torchpe/train/config"
)

// configFlags holds the flags that say what to train: the settings, the options of the encodings, and those
// that choose defaults and members. A flag that was not given keeps the preset's value.
type configFlags struct {
	own       *pflag.FlagSet // only these flags, without --config
	preset    string
	file, lst string
	values    map[string]*config.Flag // of the settings
	options   map[string]*string
	members   memberFlags
	bench     bool // --steps is the number of steps to measure, not a setting
}

// add declares the flags, in the groups of the help.
func (f *configFlags) add(fl *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	f.own, f.values = own, map[string]*config.Flag{}
	f.preset = "lst"
	own.Var(choice{&f.preset, config.Presets()}, "preset", "defaults: "+strings.Join(config.Presets(), ", "))
	fl.StringVar(&f.file, "config", "", "take a run's config.json instead of a preset")
	own.StringVar(&f.lst, "lst", "", "folder with the published puzzles, or those of torchpe data lst generate; "+
		"replaces --lst-train and --lst-validation [lst]")
	headFlags(fl, "task")
	for _, group := range config.Groups() {
		for _, s := range group.Settings {
			f.addSetting(own, s)
		}
		if group.Name == "encoding" {
			f.members.add(own)
		}
		headFlags(own, group.Name)
	}
	f.options = schemeFlags(own)
	nameSeeds(own)
	nameSeeds(fl)
	fl.AddFlagSet(own) // own shares the flags, so it knows which are given
}

// addSetting declares the flag of a setting, if it has one.
func (f *configFlags) addSetting(fl *pflag.FlagSet, s config.Setting) {
	if s.Flag == "" || s.Flag == "steps" && f.bench {
		return
	}
	v := s.NewFlag()
	f.values[s.Flag] = v
	flag := fl.VarPF(v, s.Flag, "", s.Usage())
	if v.Type() == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// schemeFlags declares a flag for each option of each scheme, below one heading, and returns the
// values by name.
func schemeFlags(fl *pflag.FlagSet) map[string]*string {
	options := map[string]*string{}
	users := map[string][]string{}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			users[o.Name] = append(users[o.Name], s.Name)
		}
	}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if options[o.Name] != nil {
				continue
			}
			defaults := fmt.Sprintf("%s (code), %s (text)", o.Code, o.Text)
			if o.Code == o.Text {
				defaults = o.Code
			}
			help := fmt.Sprintf("%s [%s; default %s]", o.Help, strings.Join(users[o.Name], ", "), defaults)
			options[o.Name] = fl.String(o.Name, "", help)
			_ = fl.SetAnnotation(o.Name, helpGroup, []string{encodingOptions}) // never fails: the flag is declared
		}
	}
	return options
}

// base returns what the flags start from: the file of --config, --preset, or the preset of --task.
func (f *configFlags) base() string {
	switch given := f.given(); {
	case f.file != "":
		return f.file
	case given["task"] && !given["preset"]:
		return f.values["task"].String()
	}
	return f.preset
}

// resolve returns the configuration of the flags, and notes about it.
func (f *configFlags) resolve() (c train.Config, notes []string, err error) {
	if f.file != "" {
		c, err = train.ReadConfig(f.file)
	} else {
		preset, tasks := f.base(), config.TaskNames()
		if preset != f.preset && !slices.Contains(tasks, preset) {
			return c, nil, fmt.Errorf("--task: %q is not one of %s%s", preset, strings.Join(tasks, ", "),
				wording.Hint(preset, tasks))
		}
		if c, err = train.Preset(preset, f.values["fidelity"].String()); err != nil {
			err = fmt.Errorf("--%w", err) // the error begins with "fidelity"
		}
	}
	if err != nil {
		return c, nil, err
	}
	return f.apply(c)
}

// apply applies the given flags to base and resolves it. It notes flags without an effect and leaves them out.
func (f *configFlags) apply(base train.Config) (c train.Config, notes []string, err error) {
	given := f.given()
	switch {
	case given["lst"] && (given[config.LSTTrain] || given[config.LSTValidation]):
		return c, nil, fmt.Errorf("--lst replaces --lst-train and --lst-validation: give it or these")
	case f.file != "" && given["preset"]:
		return c, nil, fmt.Errorf("--config and --preset both say where defaults come from: give one of them")
	case f.file != "" && given["fidelity"] && base.Fidelity != f.values["fidelity"].String():
		return c, nil, fmt.Errorf("--config %s has --fidelity %s: leave out --fidelity, or give "+
			"--preset instead of --config", f.file, base.Fidelity)
	case given["data"] && given["surrogate"]:
		return c, nil, fmt.Errorf("--data and --surrogate both choose the data: give one of them")
	}
	if given["lst"] {
		if err := f.setPuzzles(); err != nil {
			return c, nil, err
		}
	}
	flags := f.given()
	if c, err = f.put(base, flags); err != nil {
		return c, nil, err
	}
	notes = f.ignored(c, given)
	n := len(flags)
	for _, s := range config.Settings() {
		if !s.IsMember() && s.Ignored(&c.Config) != "" {
			delete(flags, s.Flag)
		}
	}
	for option := range f.options {
		if flags[option] && idle(c, option) != "" {
			delete(flags, option)
		}
	}
	if len(flags) < n {
		c, err = f.put(base, flags)
	}
	return c, notes, err
}

func (f *configFlags) put(base train.Config, given map[string]bool) (train.Config, error) {
	c := train.Config{Config: base.Clone()}
	var bad []error
	all := config.Settings()
	from := slices.DeleteFunc(slices.Clone(all), func(s config.Setting) bool { // others are unused beside it
		return !strings.HasPrefix(s.Key, "from.")
	})
	for _, s := range slices.Concat(from, all) {
		if v := f.values[s.Flag]; v != nil && given[s.Flag] && !s.IsMember() && c.Unused(s.Flag) == "" {
			bad = append(bad, s.Store(&c.Config, v))
		}
	}
	if given["pe"] && strings.Contains(c.PE, ",") && !layers.Differ(c.PE) {
		point := strings.Replace(c.PE, ",", ".", 1)
		if _, sigma := train.SplitLabel(point); sigma != nil {
			return c, fmt.Errorf("--pe %s: is this a decimal comma? Then write %s", c.PE, point)
		}
		return c, fmt.Errorf("--pe %s: want one encoding; torchpe sweep --pe %[1]s trains each", c.PE)
	}
	name, sigma := train.SplitLabel(c.PE)
	c.PE = name
	if sigma != nil && given["sigma"] {
		return c, fmt.Errorf("--pe %s-%g and --sigma both give sigma: give one of them", name, *sigma)
	}
	bad = append(bad, f.setMembers(&c, given, sigma))
	options := pe.Options{}
	maps.Copy(options, c.PEOptions)
	for option, value := range f.options {
		if given[option] {
			options[option] = *value
		}
	}
	c.PEOptions = options
	err := c.Resolve()
	if seed, ok := repeatedSeed(c.Members); ok && f.file != "" {
		err = fmt.Errorf("%s has several members of seed %d, which would be one model here: give the seeds to "+
			"train, such as --seeds %[2]d", f.file, seed)
	}
	return c, errors.Join(append(bad, err)...)
}

// repeatedSeed returns the seed of the first member that equals an earlier one. ok is false if there is none.
func repeatedSeed(members []config.Member) (seed uint64, ok bool) {
	for i, m := range members {
		equal := func(before config.Member) bool { return reflect.DeepEqual(before, m) } // pointers, too
		if slices.ContainsFunc(members[:i], equal) {
			return m.Seed, true
		}
	}
	return 0, false
}

// setPuzzles sets --lst-train and --lst-validation to the files in the folder of --lst.
func (f *configFlags) setPuzzles() error {
	files, validation, err := lst.FilesIn(f.lst)
	for _, file := range files {
		err = errors.Join(err, f.own.Set(config.LSTTrain, file))
	}
	if err != nil {
		return fmt.Errorf("--lst: %w", err)
	}
	return f.own.Set(config.LSTValidation, validation)
}

// idle says where an option of an encoding has no effect, "" where it has one.
func idle(c train.Config, option string) string {
	scheme, err := pe.Find(c.PE)
	i := slices.IndexFunc(scheme.Options, func(o pe.Option) bool { return o.Name == option })
	switch {
	case err != nil || i < 0:
		return "on " + c.PE
	case scheme.Options[i].Idle == nil:
		return ""
	}
	return scheme.Options[i].Idle(c.PEOptions)
}

// ignored lists notes on given flags that have no effect on the configuration.
func (f *configFlags) ignored(c train.Config, given map[string]bool) (notes []string) {
	for _, s := range config.Settings() {
		if s.Flag == "" || !given[s.Flag] {
			continue
		}
		if note := s.Ignored(&c.Config); note != "" {
			notes = append(notes, note)
		} else if where := c.Unused(s.Flag); where != "" {
			notes = append(notes, "--"+s.Flag+" has no effect "+where)
		}
	}
	for option := range f.options {
		if where := idle(c, option); given[option] && where != "" {
			notes = append(notes, "--"+option+" has no effect "+where)
		}
	}
	if given["lst"] && !c.HasPuzzles() {
		notes = append(notes, "--lst has no effect on task "+c.Task)
	}
	if note := f.decimalComma(c, given); note != "" {
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// given returns the set of configuration flags that the command line names.
func (f *configFlags) given() map[string]bool {
	set := map[string]bool{}
	f.own.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			set[flag.Name] = true
		}
	})
	return set
}

// resumed returns the configuration of the run in path, changed by the flags. It returns an error if they
// change the trained model, unless the key of the setting is in allowed.
func (f *configFlags) resumed(path string, allowed []string) (train.Config, []string, error) {
	stored, err := train.ReadConfig(path)
	if err != nil {
		return stored, nil, err
	}
	if f.file != "" {
		return stored, nil, fmt.Errorf("--config %s: the run to resume has its own configuration, "+
			"%s", f.file, path)
	}
	given := f.given()
	if len(given) == 0 {
		return stored, nil, nil
	}
	if given["preset"] || given["fidelity"] {
		fresh, notes, err := f.resolve()
		if err != nil {
			return stored, nil, err
		}
		if !given["threads"] {
			fresh.Threads = stored.Threads
		}
		if !given["noise"] && !given["noise-repeats"] { // older runs have no noise settings
			fresh.Noise, fresh.NoiseRepeats = stored.Noise, stored.NoiseRepeats
		}
		return fresh, notes, config.CheckResumed(stored.Config, fresh.Config, path, allowed)
	}
	f.file = path
	changed, notes, err := f.apply(stored)
	if err != nil {
		return stored, nil, err
	}
	if !given[config.LogEvery] {
		changed.LogEvery = stored.LogEvery
	}
	return changed, notes, config.CheckResumed(stored.Config, changed.Config, path, allowed)
}

// memberFlags holds the flags that define the members of the ensemble.
type memberFlags struct {
	seeds string
	count int
}

// add declares the flags. --seed, of 0.1.0, is another name of --seeds.
func (f *memberFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.seeds, "seeds", "1", "seeds to train: numbers, ranges such as 1:3, or "+
		"the word paper for the 15 of the published runs")
	f.count = 1
	fl.Var(bounded{&f.count, 1, maxMembers}, "members", "number of seeds, counting up from --seeds")
}

// nameSeeds makes a set of flags accept --seed for --seeds.
func nameSeeds(fl *pflag.FlagSet) {
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "seed" {
			name = "seeds"
		}
		return pflag.NormalizedName(name)
	})
}

// setMembers sets the members according to the seeds and the members' settings. What no flag sets stays as in
// --config. If sigma is not nil, all members have it.
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
	base := c.Members
	var own []uint64 // of the configuration
	if f.file != "" {
		for _, m := range base {
			own = append(own, m.Seed)
		}
	}
	if own != nil && (given["seeds"] || given["members"]) {
		for _, s := range config.MemberSettings() {
			differ := func(m config.Member) bool { return !reflect.DeepEqual(s.Own(m), s.Own(base[0])) }
			if values[s.Flag] == nil && c.Unused(s.Flag) == "" && slices.ContainsFunc(base, differ) {
				return fmt.Errorf("%s has members that differ in %s, not only in the seed: give --%s, too",
					f.file, s.MemberKey(), s.Flag)
			}
		}
		base = base[:1]
	}
	seeds, err := f.memberSeeds(given, own, longest)
	if err != nil {
		return err
	}
	c.Members, err = config.NewMembers(base, seeds, values)
	return err
}

// maxMembers bounds the size of an ensemble: a larger number is a typing error.
const maxMembers = 4096

// memberSeeds returns the seed of each member: of --seeds, or else of --config. A single seed counts up for
// --members, and is the seed of all members if a setting has several values.
func (f *configFlags) memberSeeds(given map[string]bool, own []uint64, values int) ([]uint64, error) {
	seeds, err := config.ParseSeeds(f.members.seeds)
	if err != nil {
		return nil, fmt.Errorf("--seeds: %w", err)
	}
	of, advice := "--seeds "+f.members.seeds, ""
	if own != nil && !given["seeds"] {
		seeds, of, advice = own, "--config", ": give --seeds with the seeds to train"
	}
	n := f.members.count
	switch {
	case !given["members"] && len(seeds) == 1 && values > 1:
		return slices.Repeat(seeds, values), nil
	case !given["members"]:
		return seeds, nil
	case len(seeds) == 1:
		if seeds[0] > math.MaxInt64-uint64(n-1) {
			return nil, fmt.Errorf("--members %d: seeds counting up from %d exceed 2^63-1", n, seeds[0])
		}
		for i := range uint64(n - 1) {
			seeds = append(seeds, seeds[0]+i+1)
		}
	case len(seeds) != n:
		return nil, fmt.Errorf("--members %d, but %s has %d%s", n, of, len(seeds), advice)
	}
	return seeds, nil
}

// decimalComma returns a note if two values of a member's setting look like one number with a decimal comma,
// such as 0,2; else "".
func (f *configFlags) decimalComma(c train.Config, given map[string]bool) string {
	if m := c.Members; m[0].Seed != m[len(m)-1].Seed {
		return ""
	}
	for _, s := range config.MemberSettings() {
		v := f.values[s.Flag].Numbers()
		if given[s.Flag] && c.Unused(s.Flag) == "" && len(v) == 2 && v[0] == 0 && v[1] == math.Trunc(v[1]) {
			return fmt.Sprintf("--%s trains two models, with 0 and %g; is this a decimal comma? Then write a point",
				s.Flag, v[1])
		}
	}
	return ""
}
