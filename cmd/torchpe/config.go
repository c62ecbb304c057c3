package main

import (
	"errors"
	"fmt"
	"maps"
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

// configFlags holds the flags that say what to train: the settings, the options of the encodings, and
// the few that choose defaults and members. A flag that was not given keeps the preset's value.
type configFlags struct {
	own       *pflag.FlagSet // these flags alone, but for --config
	preset    string
	file, lst string
	values    map[string]*config.Flag // of the settings
	options   map[string]*string
	members   memberFlags
	bench     bool // --steps is no setting but the number of steps to measure
}

// add declares the flags, in the groups of the help.
func (f *configFlags) add(fl *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	f.own, f.values = own, map[string]*config.Flag{}
	f.preset = "lst"
	own.Var(choice{&f.preset, config.Presets()}, "preset", "defaults: "+strings.Join(config.Presets(), ", "))
	fl.StringVar(&f.file, "config", "", "take a run's config.json instead of a preset")
	own.StringVar(&f.lst, "lst", "", "folder with the published puzzles, or with those of torchpe data lst generate; "+
		"stands for --lst-train and --lst-validation [lst]")
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
	fl.AddFlagSet(own) // shares the flags: own knows which are given
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
			_ = fl.SetAnnotation(o.Name, helpGroup, []string{encodingOptions}) // it is declared
		}
	}
	return options
}

// resolve returns the configuration of the flags, and notes about it.
func (f *configFlags) resolve() (c train.Config, notes []string, err error) {
	given := f.given()
	if f.file != "" {
		c, err = train.ReadConfig(f.file)
	} else {
		preset := f.preset
		if given["task"] && !given["preset"] {
			tasks := config.TaskNames()
			if preset = f.values["task"].String(); !slices.Contains(tasks, preset) {
				return c, nil, fmt.Errorf("--task: %q is not one of %s%s", preset, strings.Join(tasks, ", "),
					wording.Hint(preset, tasks))
			}
		}
		if c, err = train.Preset(preset, f.values["fidelity"].String()); err != nil {
			err = fmt.Errorf("--%w", err) // which begins with fidelity
		}
	}
	if err != nil {
		return c, nil, err
	}
	return f.apply(c)
}

// apply puts the given flags over c and resolves it.
func (f *configFlags) apply(base train.Config) (train.Config, []string, error) {
	given, c := f.given(), train.Config{Config: base.Clone()}
	switch {
	case given["lst"] && (given[config.LSTTrain] || given[config.LSTValidation]):
		return c, nil, fmt.Errorf("--lst stands for --lst-train and --lst-validation: leave out either it or these")
	case f.file != "" && given["preset"]:
		return c, nil, fmt.Errorf("--config and --preset both say where defaults come from: give one of them")
	case f.file != "" && given["fidelity"] && c.Fidelity != f.values["fidelity"].String():
		return c, nil, fmt.Errorf("--config %s has --fidelity %s: leave out --fidelity, or give "+
			"--preset instead of --config", f.file, c.Fidelity)
	case given["data"] && given["surrogate"]:
		return c, nil, fmt.Errorf("--data and --surrogate both say what the data is: give one of them")
	}
	if given["lst"] {
		if err := f.setPuzzles(); err != nil {
			return c, nil, err
		}
	}
	var bad []error
	for _, s := range config.Settings() {
		if v := f.values[s.Flag]; v != nil && f.own.Changed(s.Flag) && !s.IsMember() && c.Unused(s.Flag) == "" {
			bad = append(bad, s.Store(&c.Config, v))
		}
	}
	if given["pe"] && strings.Contains(c.PE, ",") && !layers.Differ(c.PE) {
		point := strings.Replace(c.PE, ",", ".", 1)
		if _, sigma := train.SplitLabel(point); sigma != nil {
			return c, nil, fmt.Errorf("--pe %s: is this a decimal comma? Then write %s", c.PE, point)
		}
		return c, nil, fmt.Errorf("--pe %s: want one encoding; torchpe sweep --pe %[1]s trains each", c.PE)
	}
	name, sigma := train.SplitLabel(c.PE)
	c.PE = name
	if sigma != nil && given["sigma"] {
		return c, nil, fmt.Errorf("--pe %s-%g and --sigma both give sigma: give one of them", name, *sigma)
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
	if err := errors.Join(append(bad, c.Resolve())...); err != nil {
		return c, nil, err
	}
	return c, f.ignored(c, given), nil
}

// setPuzzles gives the files in the folder of --lst to the flags that it stands for.
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

// hasOption reports whether an encoding has an option.
func hasOption(encoding, option string) bool {
	scheme, err := pe.Find(encoding)
	return err == nil && slices.ContainsFunc(scheme.Options, func(o pe.Option) bool { return o.Name == option })
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
		if given[option] && !hasOption(c.PE, option) {
			notes = append(notes, fmt.Sprintf("--%s has no effect on %s", option, c.PE))
		}
	}
	if given["lst"] && !c.HasPuzzles() {
		notes = append(notes, "--lst has no effect on task "+c.Task)
	}
	if note := c.UnusedSigma(); note != "" && given["sigma"] {
		notes = append(notes, note)
	}
	if note := f.decimalComma(given); note != "" {
		notes = append(notes, note)
	}
	slices.Sort(notes)
	return notes
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

// resumed returns the configuration of the run in path, changed by the flags. It is an error to change
// the trained model, unless the key of the setting is allowed.
func (f *configFlags) resumed(path string, allowed []string) (train.Config, []string, error) {
	stored, err := train.ReadConfig(path)
	if err != nil {
		return stored, nil, err
	}
	if f.file != "" {
		return stored, nil, fmt.Errorf("--config %s: the run to resume has a configuration of its own, "+
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
		if !given["noise"] && !given["noise-repeats"] { // runs before there was noise have none
			fresh.Noise, fresh.NoiseRepeats = stored.Noise, stored.NoiseRepeats
		}
		return fresh, notes, config.CheckResumed(stored.Config, fresh.Config, path, allowed)
	}
	f.file = path
	changed, notes, err := f.apply(stored)
	if err != nil {
		return stored, nil, err
	}
	if !given[logEveryFlag] {
		changed.LogEvery = stored.LogEvery
	}
	return changed, notes, config.CheckResumed(stored.Config, changed.Config, path, allowed)
}

// logEveryFlag names the steps between records. Where it is not given, their number follows from the length
// of training.
const logEveryFlag = "log-every"
