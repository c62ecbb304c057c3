package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train/sweep"
)

// defaultsVariable in the environment with the value none leaves all defaults of the user out.
const defaultsVariable = "TORCHPE_DEFAULTS"

// projectFile is the file of defaults in the current directory.
const projectFile = "torchpe.yaml"

// userFile returns the path of the user's file of defaults, "" where there is no home.
func userFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "torchpe", "config.yaml")
}

// variableOf returns the environment variable of a flag's default.
func variableOf(flag string) string {
	return "TORCHPE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// userDefault is the value that a user has chosen for a flag that is not on the command line. Texts
// of a flag that is given several times are joined by line ends.
type userDefault struct {
	Flag  string `json:"flag"`
	Value string `json:"value"`
	From  string `json:"from"` // TORCHPE_LR, or FILE:LINE
}

// defaultFlags returns the flags that may have a default of the user: those of one configuration.
var defaultFlags = sync.OnceValue(func() map[string]sweep.Flag {
	kinds := trainKinds()
	delete(kinds, "config")
	delete(kinds, "seed")
	return kinds
})

// readDefaults returns the defaults of the environment, the project and the user, the strongest
// source first.
func readDefaults() (sources [][]userDefault, err error) {
	switch v := os.Getenv(defaultsVariable); v {
	case "":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("%s: %q: it is none, which leaves all defaults out, or not set", defaultsVariable, v)
	}
	var found []userDefault
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		suffix, ok := strings.CutPrefix(name, "TORCHPE_")
		if !ok || value == "" {
			continue
		}
		flag := strings.ReplaceAll(strings.ToLower(suffix), "_", "-")
		kind, ok := defaultFlags()[flag]
		if !ok || variableOf(flag) != name {
			continue
		}
		if kind.Check != nil {
			if err := kind.Check(value); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if err := checkOption(flag, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		found = append(found, userDefault{flag, value, name})
	}
	sources = append(sources, found)
	for _, path := range []string{projectFile, userFile()} {
		if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		all, err := sweep.ReadDefaults(path, defaultFlags())
		if err != nil {
			return nil, err
		}
		found = nil
		for _, d := range all {
			from := fmt.Sprintf("%s:%d", path, d.Line)
			if err := checkOption(d.Flag, d.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", from, err)
			}
			found = append(found, userDefault{d.Flag, d.Value, from})
		}
		sources = append(sources, found)
	}
	return sources, nil
}

// checkOption returns what is wrong with the value of an option, whichever encoding has it; nil for
// other flags.
func checkOption(flag, value string) (err error) {
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if o.Name != flag {
				continue
			}
			if err = o.Check(value); err == nil {
				return nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// misspelt says which variables of the environment are nearly those of a flag.
func misspelt() (notes []string) {
	var variables []string
	for flag := range defaultFlags() {
		variables = append(variables, variableOf(flag))
	}
	slices.Sort(variables)
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "TORCHPE_") || name == defaultsVariable || slices.Contains(variables, name) {
			continue
		}
		if near := wording.Nearest(name, variables); near != "" {
			notes = append(notes, fmt.Sprintf("%s is the variable of no flag; did you mean %s?", name, near))
		}
	}
	return notes
}

// sayTheSame are flags that exclude each other: one that is given leaves a default of the other out.
var sayTheSame = map[string]string{"preset": "task", "task": "preset", "data": "surrogate", "surrogate": "data"}

// addDefaults sets the flags that were not given to the user's defaults, as if they had been given.
// A configuration of --config has all its values.
func (f *configFlags) addDefaults() error {
	f.from = map[string]string{}
	if f.file != "" {
		return nil
	}
	sources, err := readDefaults()
	if err != nil {
		return err
	}
	for _, source := range sources {
		stronger := f.given()
		for _, d := range source {
			has := d.Flag == "preset" || f.values[d.Flag] != nil || f.options[d.Flag] != nil ||
				f.members.values[d.Flag] != nil // bench has a --steps of its own
			if !has || stronger[d.Flag] || stronger[sayTheSame[d.Flag]] {
				continue
			}
			for text := range strings.SplitSeq(d.Value, "\n") {
				if err := f.flags.Set(d.Flag, text); err != nil {
					return fmt.Errorf("%s: %w", d.From, err)
				}
			}
			f.from[d.Flag] = d.From
		}
	}
	return nil
}

// flagInText matches the name of a flag in a message.
var flagInText = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)

// withOrigins names in an error where the values of the flags in it come from.
func (f *configFlags) withOrigins(err error) error {
	if err == nil || len(f.from) == 0 {
		return err
	}
	text := flagInText.ReplaceAllStringFunc(err.Error(), func(flag string) string {
		if from := f.from[flag[2:]]; from != "" {
			return fmt.Sprintf("%s (of %s)", flag, from)
		}
		return flag
	})
	if text == err.Error() {
		return err
	}
	return originError{err, text}
}

// originError is an error with another text.
type originError struct {
	error
	text string
}

func (e originError) Error() string { return e.text }
func (e originError) Unwrap() error { return e.error }

func newConfigCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show your defaults of settings, and where each comes from",
		Long: `Show the values that flags of torchpe train have where they are not given, and where each value
comes from: a variable of the environment (` + variableOf("lr") + ` for --lr), ` + projectFile + ` in the current
directory, or torchpe/config.yaml in your directory of configurations; the first that has a value
counts. A value acts as if its flag had been given: the configuration of the run has it. Runs that
are resumed, and --config, have all their values. ` + defaultsVariable + `=none leaves all defaults out.`,
		Example: `  torchpe config
  torchpe config --all --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, err := effectiveDefaults(all)
			if err != nil {
				return usageError{err}
			}
			for _, note := range misspelt() {
				fmt.Fprintln(cmd.ErrOrStderr(), "torchpe: "+note)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			printDefaults(cmd.OutOrStdout(), rows)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also flags with their built-in default")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// effectiveDefaults returns the defaults that count, in the order of the flags; with the built-in
// ones where all are asked for. A wrong value is an error.
func effectiveDefaults(all bool) (rows []userDefault, err error) {
	var f configFlags
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	fl.SortFlags = false
	f.add(fl)
	if _, _, err := f.resolve(); err != nil {
		return nil, err
	}
	rows = []userDefault{}
	fl.VisitAll(func(flag *pflag.Flag) {
		_, takes := defaultFlags()[flag.Name]
		switch from := f.from[flag.Name]; {
		case from != "":
			rows = append(rows, userDefault{flag.Name, flag.Value.String(), from})
		case all && takes:
			rows = append(rows, userDefault{flag.Name, flag.DefValue, "built in"})
		}
	})
	return rows, nil
}

func printDefaults(out io.Writer, rows []userDefault) {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{"--" + r.Flag, r.Value, r.From})
	}
	if cells != nil {
		printTable(out, []string{"flag", "value", "from"}, cells)
	} else {
		fmt.Fprintln(out, "No defaults of your own: all are those of torchpe train --help.")
	}
	files := slices.DeleteFunc([]string{projectFile, userFile()}, func(path string) bool { return path == "" })
	fmt.Fprintf(out, "Files, where they are there: %s. Variables: TORCHPE_ and the flag, such as %s.\n",
		strings.Join(files, ", "), variableOf("weight-decay"))
}
