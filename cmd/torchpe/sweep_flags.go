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
	"torchpe/train/config"
	"torchpe/train/sweep"
)

// sweepOf returns how a flag of train takes values in a sweep.
func sweepOf(flag string) config.Sweep {
	if flag == "config" || flag == "seeds" {
		return config.Whole
	}
	s, _ := config.ByFlag(flag)
	return s.Sweep
}

// axisFlag is a flag of train that may have several values.
type axisFlag struct {
	name, kind, shown string
	whole, repeats    bool
	given             []string
	check             func(value string) error
}

var _ pflag.Value = (*axisFlag)(nil)

func (a *axisFlag) String() string { return a.shown }

// Set stores the text of the flag; axis splits it.
func (a *axisFlag) Set(text string) error {
	if a.whole {
		a.given = nil
	}
	a.given = append(a.given, text)
	return nil
}

// Type names the type of one value.
func (a *axisFlag) Type() string { return a.kind }

// axis returns the flag with its values; ok is false where it was not given.
func (a *axisFlag) axis() (out sweep.Axis, ok bool, err error) {
	if a.given == nil {
		return out, false, nil
	}
	out.Flag = a.name
	switch {
	case a.repeats:
		out.Values = []string{strings.Join(a.given, "\n")}
	case a.name == "seeds":
		var seeds string
		seeds, err = sweep.ParseSeeds(a.given[0])
		out.Values = []string{seeds}
	case a.whole:
		out.Values = a.given
	default:
		out.Values, err = sweep.ParseValues(strings.Join(a.given, ","))
		for _, v := range out.Values {
			err = errors.Join(err, a.check(v))
		}
	}
	if err != nil {
		return out, false, fmt.Errorf("--%s: %w", a.name, err)
	}
	return out, true, nil
}

// checkOf returns a check of a value of a flag by itself.
func checkOf(flag *pflag.Flag) func(string) error {
	return func(text string) error {
		err := flag.Value.Set(text)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is out of range", text)
		}
		if errors.Is(err, strconv.ErrSyntax) {
			return fmt.Errorf("%q is not a whole number", text)
		}
		return err
	}
}

// addAxes declares the flags of train as axes.
func addAxes(fl *pflag.FlagSet) []*axisFlag {
	var f configFlags
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	f.add(own)
	var out []*axisFlag
	own.VisitAll(func(flag *pflag.Flag) {
		a := &axisFlag{name: flag.Name, kind: flag.Value.Type(), shown: flag.DefValue, check: checkOf(flag)}
		switch sweepOf(flag.Name) {
		case config.Whole, config.List:
			a.whole = true
		case config.Repeated:
			a.repeats = true
		}
		if !a.whole && !a.repeats {
			a.kind = strings.TrimSuffix(a.kind, "Slice") + ",..."
		}
		fl.Var(a, flag.Name, strings.Replace(flag.Usage, config.EachMember, "", 1)) // several values are an axis here
		added := fl.Lookup(flag.Name)
		added.NoOptDefVal, added.Annotations = flag.NoOptDefVal, flag.Annotations
		out = append(out, a)
	})
	return out
}

// trainKinds returns the flags that a sweep file may set.
func trainKinds() map[string]sweep.Flag {
	var f configFlags
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(own)
	kinds := map[string]sweep.Flag{}
	own.VisitAll(func(flag *pflag.Flag) {
		switch how := sweepOf(flag.Name); {
		case flag.Name == "seeds" || flag.Name == "members": // the file's key seeds
		case how == config.Repeated:
			kinds[flag.Name] = sweep.Flag{Sweep: how}
		default:
			kinds[flag.Name] = sweep.Flag{Sweep: how, Check: checkOf(flag)}
		}
	})
	return kinds
}

// givenAxes returns the flags that were given, with their values.
func givenAxes(flags []*axisFlag) (axes []sweep.Axis, err error) {
	for _, a := range flags {
		axis, ok, err := a.axis()
		if err != nil {
			return nil, err
		}
		if ok {
			axes = append(axes, axis)
		}
	}
	return axes, nil
}

// spec returns the sweep that the arguments ask for.
func (f *sweepFlags) spec(what string) (sweep.Spec, error) {
	axes, err := givenAxes(f.axes)
	if err != nil {
		return sweep.Spec{}, err
	}
	spec := sweep.Spec{Parts: []sweep.Part{{}}}
	switch {
	case what == "":
		if len(axes) == 0 {
			return spec, errors.New("torchpe sweep: nothing to train: give a preset, a file or flags; see " +
				"torchpe sweep --help")
		}
	case isFile(what):
		if spec, err = sweep.ReadFile(what, trainKinds()); err != nil {
			return spec, err
		}
		if spec.Name == "" && what != array.Stdin {
			spec.Name = strings.TrimSuffix(filepath.Base(what), filepath.Ext(what))
		}
	default:
		preset, err := sweep.FindPreset(what)
		if err != nil {
			return spec, err
		}
		spec = preset.Spec
	}
	spec = spec.Set(axes)
	return spec, f.combine(&spec)
}

// isFile says whether an argument names a file: one that is there, looks like one, or is standard
// input.
func isFile(what string) bool {
	_, err := os.Stat(what)
	return err == nil || what == array.Stdin || !errors.Is(err, fs.ErrNotExist) || strings.ContainsAny(what, "./\\")
}

func (f *sweepFlags) combine(spec *sweep.Spec) error {
	for i := range spec.Parts {
		p := &spec.Parts[i]
		p.Zip, p.Exclude = slices.Clone(p.Zip), slices.Clone(p.Exclude)
		for _, group := range f.zip {
			p.Zip = append(p.Zip, strings.Split(group, ","))
		}
		for _, text := range f.exclude {
			m, err := sweep.ParseMatch(text)
			if err != nil {
				return fmt.Errorf("--exclude: %w", err)
			}
			p.Exclude = append(p.Exclude, m)
		}
	}
	return nil
}

// resolveArguments turns arguments of train into a configuration. Its paths are absolute, as workers
// may start in other folders, and its files can be read: else each task would fail.
func resolveArguments(args []string) ([]byte, []string, error) {
	var f configFlags
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(fl)
	if err := fl.Parse(args); err != nil {
		return nil, nil, err
	}
	if f.members.count.auto {
		return nil, nil, usagef("--members auto: a number here; " +
			"--pack auto finds how many configurations train together")
	}
	c, notes, err := f.resolve()
	if err != nil {
		return nil, nil, err
	}
	if err := config.MakePathsAbsolute(&c.Config); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(c)
	return text, notes, err
}

func parsePack(text string, m sweep.Machine) (sweep.Packing, error) {
	if text == "auto" {
		return sweep.Packing{Machine: m}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxMembers {
		return sweep.Packing{}, usagef("--pack: %q is neither auto nor a number from 1 to %d", text, maxMembers)
	}
	return sweep.Packing{Members: n}, nil
}
