package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/text"
	"torchpe/data/series"
	"torchpe/train/config"
)

// sourceFlags holds the flags that locate a user's series, for commands that do not train.
type sourceFlags struct{ s series.Source }

// add declares the flags of the settings of files, except --data and those with a prefix in without.
func (f *sourceFlags) add(fl *pflag.FlagSet, without ...string) {
	var into config.Config
	into.Masked = &config.MaskedConfig{Files: &f.s}
	for _, s := range config.Settings() {
		skip := slices.ContainsFunc(without, func(w string) bool { return strings.HasPrefix(s.Flag, w) })
		if s.Tasks == config.FromSeries && s.Flag != "data" && !skip {
			fl.Var(storedFlag{s.NewFlag(), s, &into}, s.Flag, s.Help)
		}
	}
	headerFlag(fl, &f.s.Header)
}

// headerFlag declares --header, which has one meaning in all commands that read texts of numbers.
func headerFlag(fl *pflag.FlagSet, into *text.Choice) {
	fl.Var(header{into}, "header", config.HeaderHelp)
}

// header is the value of --header.
type header struct{ to *text.Choice }

func (header) String() string { return "auto" }
func (header) Type() string   { return "yes|no|auto" }

func (h header) Set(word string) (err error) {
	*h.to, err = text.ParseChoice(word)
	return err
}

// storedFlag is a flag of a setting that stores its value as soon as it is given.
type storedFlag struct {
	*config.Flag
	setting config.Setting
	into    *config.Config
}

func (f storedFlag) Set(value string) error {
	if err := f.Flag.Set(value); err != nil {
		return err
	}
	return f.setting.Store(f.into, f.Flag)
}
