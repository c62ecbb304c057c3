package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array"
	"torchpe/internal/layers"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
	"torchpe/train/sweep"
)

// axisFlag is a flag of train that takes several values.
type axisFlag struct {
	train *pflag.Flag
	how   config.Sweep
	given []string
	one   bool // the command takes one value only
}

// sweepOf returns how a flag of train takes several values in a sweep.
func sweepOf(flag string) config.Sweep {
	if flag == "config" || flag == "seeds" || flag == "lst" {
		return config.Whole
	}
	s, _ := config.ByFlag(flag)
	return s.Sweep
}

// isWhole reports whether the text of the flag is one value.
func (a *axisFlag) isWhole() bool {
	return a.how == config.Whole || a.how == config.List || a.one && a.isPath()
}

// isPath reports whether the flag names files.
func (a *axisFlag) isPath() bool {
	s, _ := config.ByFlag(a.train.Name)
	return s.Path
}

func (a *axisFlag) String() string { return a.train.DefValue }

// Set stores the text of the flag; axis splits it later. The last text counts, except of flags that name files,
// and of those that may differ by layer, which need one for each such value.
func (a *axisFlag) Set(text string) error {
	if a.how != config.Repeated && a.how != config.ByLayer {
		a.given = nil
	}
	a.given = append(a.given, text)
	return nil
}

func (a *axisFlag) Type() string {
	kind := a.train.Value.Type()
	switch {
	case a.isWhole() || a.how == config.Repeated:
		return kind
	case a.one:
		return strings.TrimSuffix(kind, "Slice")
	}
	return strings.TrimSuffix(kind, "Slice") + ",..."
}

func (a *axisFlag) axis() (out sweep.Axis, err error) {
	out.Flag = a.train.Name
	switch {
	case a.how == config.Repeated:
		out.Values = []string{strings.Join(a.given, "\n")}
	case out.Flag == "seeds":
		var seeds string
		seeds, err = sweep.ParseSeeds(a.given[0])
		out.Values = []string{seeds}
	case a.isWhole():
		out.Values = a.given
	default:
		for _, text := range a.given {
			if strings.Contains(text, ",") && a.isPath() && config.CheckReadable(text) == nil {
				err = errors.Join(err, fmt.Errorf("%s is one file, but here commas separate values: write a "+
					"sweep file with set: {%s: %q}", text, out.Flag, text))
				continue
			}
			values := []string{text}
			if a.how != config.ByLayer || !layers.Differ(text) {
				var bad error
				values, bad = sweep.ParseValues(text)
				err = errors.Join(err, bad)
			}
			out.Values = append(out.Values, values...)
		}
		for _, v := range out.Values {
			err = errors.Join(err, checkValue(a.train, v))
		}
	}
	if err != nil {
		return out, fmt.Errorf("--%s: %w", out.Flag, err)
	}
	return out, nil
}

// checkValue checks a single value of a flag.
func checkValue(flag *pflag.Flag, text string) error {
	err := flag.Value.Set(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is out of range", text)
	case errors.Is(err, strconv.ErrSyntax):
		return fmt.Errorf("%q is not a whole number", text)
	}
	return err
}

// flagsOfTrain returns the flags of train that say what to train.
func flagsOfTrain() *pflag.FlagSet {
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.SortFlags = false
	new(configFlags).add(fl)
	return fl
}

func addAxes(fl *pflag.FlagSet) (axes []*axisFlag) {
	nameSeeds(fl)
	flagsOfTrain().VisitAll(func(flag *pflag.Flag) {
		a := &axisFlag{train: flag, how: sweepOf(flag.Name)}
		added := fl.VarPF(a, flag.Name, "", strings.Replace(flag.Usage, config.EachMember, "", 1))
		added.NoOptDefVal, added.Annotations = flag.NoOptDefVal, flag.Annotations
		axes = append(axes, a)
	})
	return axes
}

// fileKeys returns the flags that a sweep file may set.
func fileKeys() map[string]sweep.Flag {
	keys, ofMembers := map[string]sweep.Flag{}, map[string]bool{} // which in train take a value for each member
	for _, s := range config.MemberSettings() {
		ofMembers[s.Flag] = true
	}
	flagsOfTrain().VisitAll(func(flag *pflag.Flag) {
		how := sweepOf(flag.Name)
		switch {
		case flag.Name == "members": // a key next to grid
		case flag.Name == "seeds":
			keys["seed"] = sweep.Flag{Check: func(text string) error { _, err := config.ParseSeeds(text); return err }}
		case how == config.Repeated:
			keys[flag.Name] = sweep.Flag{Sweep: how}
		default:
			keys[flag.Name] = sweep.Flag{Sweep: how, Check: func(text string) error {
				if ofMembers[flag.Name] && strings.ContainsAny(text, ",:") {
					return fmt.Errorf("%q is more than one number: write a list, as [0.1, 0.2], or a range, as "+
						"{from: 0.1, to: 0.5, step: 0.1}", text)
				}
				return checkValue(flag, text)
			}}
		}
	})
	return keys
}

// givenAxes returns the given flags with their values.
func givenAxes(flags []*axisFlag) (axes []sweep.Axis, err error) {
	for _, a := range flags {
		if a.given == nil {
			continue
		}
		axis, err := a.axis()
		if err != nil {
			return nil, err
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// spec returns the sweep that the argument, if any, and the flags ask for.
func (f *sweepFlags) spec(args []string) (sweep.Spec, error) {
	spec := sweep.Spec{Parts: []sweep.Part{{}}}
	axes, err := givenAxes(f.axes)
	switch {
	case err != nil:
		return spec, err
	case len(args) == 1:
		spec, err = namedSpec(args[0])
	case len(axes) == 0:
		err = errors.New("nothing to train: give a preset, a file or flags; see torchpe sweep --help")
	}
	if err != nil {
		return spec, err
	}
	spec = spec.Set(axes)
	for i := range spec.Parts {
		p := &spec.Parts[i]
		p.Zip = slices.Clone(p.Zip)
		for _, group := range f.zip {
			p.Zip = append(p.Zip, strings.Split(group, ","))
		}
	}
	return spec, nil
}

func namedSpec(name string) (sweep.Spec, error) {
	if !isFile(name) {
		preset, err := sweep.FindPreset(name)
		return preset.Spec, err
	}
	spec, err := sweep.ReadFile(name, fileKeys())
	if err == nil && spec.Name == "" && name != array.Stdin {
		spec.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return spec, err
}

// isFile reports whether an argument names a file: one that exists, looks like one, or is standard input. A
// folder is not a file: the sweep of a preset may lie in a folder with the preset's name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() || name == array.Stdin ||
		err != nil && !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(name, "./\\")
}

// resolveArguments turns arguments of train into a configuration. It makes paths absolute, because workers may
// start in other folders, and checks that the files can be read: otherwise each task would fail.
func resolveArguments(args []string) ([]byte, []string, error) {
	var f configFlags
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(fl)
	if err := fl.Parse(args); err != nil {
		return nil, nil, err
	}
	c, notes, err := f.resolve()
	if err != nil {
		return nil, nil, err
	}
	if err := checkFrom(c.From); err != nil {
		return nil, nil, err
	}
	if err := config.MakePathsAbsolute(&c.Config); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(c)
	return text, notes, err
}

// checkFrom returns an error if the run of --from has several members: the member from which a run of a sweep
// starts would depend on how its tasks are packed.
func checkFrom(from *config.FromConfig) error {
	if from == nil {
		return nil
	}
	r, err := runlog.Open(from.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	there, err := train.ParseConfig(r.Config().JSON)
	if n := len(there.Members); err == nil && n > 1 {
		err = fmt.Errorf("--from %s: that run has %d members: give a run of one, such as one in the folder runs of "+
			"a sweep", from.Run, n)
	}
	return err
}
