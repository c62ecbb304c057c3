package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
	"torchpe/report/table"
	"torchpe/train/config"
)

// call is one use of a command.
type call struct {
	*cobra.Command
	args  []string
	out   io.Writer // standard output, for the result
	notes io.Writer // standard error, for notes and progress
	json  bool
	csv   string // the file for --csv, - for standard output
}

func (c *call) given(flag string) bool { return c.Flags().Changed(flag) }

// note prints a note, and noteAll several.
func (c *call) note(text string) { fmt.Fprintln(c.notes, "torchpe: "+text) }

func (c *call) noteAll(texts []string) {
	for _, text := range texts {
		c.note(text)
	}
}

// quietFlag declares --quiet, and quiet reports whether it was given.
func quietFlag(fl *pflag.FlagSet) { fl.Bool("quiet", false, "print no progress") }

func (c *call) quiet() bool {
	quiet, _ := c.Flags().GetBool("quiet") // false if there is no such flag
	return quiet
}

// progress returns the writer for progress, which is discarded with --quiet.
func (c *call) progress() io.Writer {
	if c.quiet() {
		return io.Discard
	}
	return c.notes
}

// result holds the outcome of a command, which the harness prints.
type result struct {
	value any               // for --json
	table *table.Table      // for a person
	print func(io.Writer)   // for a person, after the table; nil prints nothing
	notes []string          // printed first, to standard error
	files []atomicfile.File // written, all or none, before anything is printed
	err   error             // makes the command fail after its result is printed
}

// printf returns a function that prints a text.
func printf(format string, args ...any) func(io.Writer) {
	return func(w io.Writer) { fmt.Fprintf(w, format, args...) }
}

// leaf completes a command that does something. Its usage line defines the arguments, --json prints the result
// as JSON, and run computes the result. The destinations are checked before run is called.
func leaf(cmd *cobra.Command, run func(*call) (result, error), to ...*destination) *cobra.Command {
	cmd.Flags().Bool("json", false, "print as JSON")
	return action(cmd, run, to...)
}

// tabled completes a command whose result is a table, like leaf. --csv writes the table as CSV; output that is
// not for people is CSV too.
func tabled(cmd *cobra.Command, run func(*call) (result, error), to ...*destination) *cobra.Command {
	csv := cmd.Flags().String("csv", "", "write the table to this file as CSV; - prints it, as for a pipe")
	leaf(cmd, func(c *call) (result, error) {
		if strings.HasPrefix(*csv, "--") {
			return result{}, usagef("--csv %s: want a file, or - to print the table", *csv)
		}
		if err := checkFolder("csv", *csv); err != nil {
			return result{}, err
		}
		if c.csv = *csv; c.csv == "" && !c.json && !c.forPeople() {
			c.csv = "-"
		}
		r, err := run(c)
		if r.table == nil || c.csv == "" || err != nil {
			return r, err
		}
		write := r.table.CSV
		r.print = func(w io.Writer) { _ = write(w) } // main returns errors of w
		if c.csv != "-" {
			r.files = append(r.files, atomicfile.File{Path: c.csv, Body: write})
			r.print = printf("%s: %s\n", c.csv, wording.Count(len(r.table.Rows), "row"))
		}
		r.table = nil
		return r, nil
	}, to...)
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	return cmd
}

// action completes a command like leaf, without --json.
func action(cmd *cobra.Command, run func(*call) (result, error), to ...*destination) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = argumentsOf(cmd)
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, isSetting := f.Value.(*config.Flag)
		_, isAxis := f.Value.(*axisFlag) // which stores a text
		if !isSetting && !isAxis && slices.Contains([]string{"int", "int64", "uint64"}, f.Value.Type()) {
			f.Value = decimal{f.Value}
		}
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c := &call{Command: cmd, args: args, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr()}
		c.json, _ = cmd.Flags().GetBool("json") // false if there is no such flag
		for _, d := range to {
			if err := d.check(); err != nil {
				return err
			}
		}
		r, err := run(c)
		if err == nil {
			err = atomicfile.WriteAll(r.files...)
		}
		if err != nil {
			return err
		}
		return c.show(r)
	}
	return cmd
}

// decimal is a whole number of a flag, read like settings: 010 is ten, which pflag would read as eight.
type decimal struct{ pflag.Value }

func (d decimal) Set(text string) error {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return fmt.Errorf("%q is not a whole number", text)
	}
	return d.Value.Set(n.String())
}

// ofInput marks all errors of run as mistakes of the user. run must depend only on its flags and the files that
// they name.
func ofInput(run func(*call) (result, error)) func(*call) (result, error) {
	return func(c *call) (result, error) {
		r, err := run(c)
		if err != nil {
			err = usageError{err}
		}
		return r, err
	}
}

func (c *call) show(r result) error {
	c.noteAll(r.notes)
	if c.json && (r.value != nil || r.err == nil) {
		return errors.Join(printJSON(c.out, r.value), r.err)
	}
	if r.table != nil {
		if err := r.table.Terminal(c.out); err != nil {
			return err
		}
	}
	if r.print != nil {
		r.print(c.out)
	}
	return r.err
}

// parent completes a command that only holds others: without a subcommand it shows its help.
func parent(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// isSwitch reports whether an argument seems to be the value of a switch.
func isSwitch(arg string) bool { return arg == "true" || arg == "false" }

// noArguments returns an error for arguments. For a command that holds others, an argument is a mistyped name.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !cmd.HasSubCommands():
		if isSwitch(args[0]) {
			return fmt.Errorf("unknown argument %q: a switch takes it after =, as in --tensorboard=false", args[0])
		}
		return fmt.Errorf("unknown argument %q", args[0])
	}
	cmd.SuggestionsMinimumDistance = 2 // edits
	hint := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		hint = fmt.Sprintf("; did you mean %q?", names[0])
	}
	return fmt.Errorf("unknown command %q%s", args[0], hint)
}

// argumentsOf returns a check of the arguments in a usage line: NAME is one argument, NAME... one or more, and
// brackets make it optional. A flag and its value are not arguments.
func argumentsOf(cmd *cobra.Command) cobra.PositionalArgs {
	var names []string
	least, most := 0, 0
	words := strings.Fields(cmd.Use)
	for i := 1; i < len(words); i++ {
		if strings.HasPrefix(words[i], "[--") {
			break // the rest is flags
		}
		if strings.HasPrefix(words[i], "--") {
			i++ // its value
			continue
		}
		name := strings.Trim(words[i], "[]")
		names, most = append(names, name), most+1
		if words[i][0] != '[' {
			least++
		}
		if strings.HasSuffix(name, "...") {
			most = math.MaxInt
		}
	}
	if names == nil {
		return noArguments
	}
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("missing: %s", strings.Join(names[len(args):], " and "))
		case len(args) > most:
			return fmt.Errorf("want %s, not %d arguments", strings.Join(names, " and "), len(args))
		}
		return nil
	}
}

// require makes flags mandatory and says so in their help.
func require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		cmd.Flags().Lookup(name).Usage += " (required)"
		_ = cmd.MarkFlagRequired(name) // fails only for unknown flags
	}
}

// choice is a flag with few values.
type choice struct {
	to *string
	of []string
}

func (c choice) String() string { return *c.to }
func (choice) Type() string     { return "string" }

func (c choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("want one of %s%s", strings.Join(c.of, ", "), wording.Hint(text, c.of))
	}
	*c.to = text
	return nil
}

// readings are the values of --fidelity.
var readings = []string{"code", "text"}

// bounded is a flag with a whole number from low to high.
type bounded struct {
	to        *int
	low, high int
}

func (n bounded) String() string { return strconv.Itoa(*n.to) }
func (bounded) Type() string     { return "int" }

func (n bounded) Set(text string) error {
	v, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return err
	case v < n.low && n.high == math.MaxInt:
		return fmt.Errorf("want %d or more", n.low)
	case v < n.low || v > n.high:
		return fmt.Errorf("want %d to %d", n.low, n.high)
	}
	*n.to = v
	return nil
}

// orAuto is a flag with a bounded number, or the word auto for 0.
type orAuto struct{ bounded }

func (orAuto) Type() string { return "int|auto" }

func (n orAuto) String() string {
	if *n.to == 0 {
		return "auto"
	}
	return n.bounded.String()
}

func (n orAuto) Set(text string) error {
	if text == "auto" {
		*n.to = 0
		return nil
	}
	if n.bounded.Set(text) != nil {
		return fmt.Errorf("want a number from %d to %d, or the word auto", n.low, n.high)
	}
	return nil
}

// once is a flag of one value, which may not be given again with another one.
type once struct {
	pflag.Value
	hint string  // what to give instead, with %s for both values
	text *string // nil until it is given
}

// onlyOnce lets a flag of one value have no second one. Those that collect values stay as they are.
func onlyOnce(flag *pflag.Flag) {
	kind, how := flag.Value.Type(), sweepOf(flag.Name)
	if _, collects := flag.Value.(pflag.SliceValue); collects || kind == "stringArray" {
		return
	}
	hint := "give one of them"
	_, isSetting := config.ByFlag(flag.Name)
	switch {
	case strings.HasSuffix(kind, "Slice") || flag.Name == "seeds":
		hint = "give one list, --" + flag.Name + " %s"
	case isSetting && (how == config.Axis || how == config.ByLayer):
		hint = "want one; torchpe sweep --" + flag.Name + " %s trains each"
	}
	flag.Value = &once{Value: flag.Value, hint: hint}
}

func (o *once) Set(text string) error {
	if o.text != nil && *o.text != text {
		return fmt.Errorf("given as %s before: %s", *o.text, strings.Replace(o.hint, "%s", *o.text+","+text, 1))
	}
	o.text = &text
	return o.Value.Set(text)
}

// destination is --out with --force: a file, or files in a folder, that a command writes.
type destination struct {
	path    string   // initially the default
	force   bool     // initially whether existing files are replaced without --force
	endings []string // of the file; nil if --out is a folder
	files   []string // names in the folder
}

func (d *destination) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVarP(&d.path, "out", "o", d.path, usage)
	if !d.force {
		cmd.Flags().BoolVar(&d.force, "force", false, "overwrite existing files")
	}
}

func (d *destination) file(name string) string { return filepath.Join(d.path, name) }

func (d *destination) holding(body func(io.Writer) error) []atomicfile.File {
	return []atomicfile.File{{Path: d.path, Body: body}}
}

// check returns an error for a file of an unknown kind, and for an existing one that may not be replaced.
func (d *destination) check() error {
	if d.path == "" || d.path == "-" {
		return nil
	}
	ends := func(ending string) bool { return strings.HasSuffix(strings.ToLower(d.path), ending) }
	if d.endings != nil {
		if !slices.ContainsFunc(d.endings, ends) {
			return usagef("--out %s: want a file that ends in %s", d.path, strings.Join(d.endings, " or "))
		}
		if err := checkFolder("out", d.path); err != nil {
			return err
		}
	}
	paths := []string{d.path}
	if d.files != nil {
		paths = nil
		for _, name := range d.files {
			paths = append(paths, d.file(name))
		}
	}
	for _, path := range paths {
		switch _, err := os.Lstat(path); {
		case d.force || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		case err == nil:
			return usagef("%s exists: choose another --out or pass --force to overwrite it", path)
		default:
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// checkFolder returns an error if the folder of a file that a flag names does not exist.
func checkFolder(flag, path string) error {
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return usagef("--%s %s: the folder %s does not exist: create it first", flag, path, filepath.Dir(path))
	}
	return nil
}

// flagError suggests the flag that a mistyped one may mean, or the command if that is mistyped.
func flagError(cmd *cobra.Command, err error) error {
	if wrong := cmd.ValidateArgs(cmd.Flags().Args()); cmd.HasSubCommands() && wrong != nil {
		return wrong
	}
	_, name, ok := strings.Cut(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	best := wording.Nearest(name, names)
	if other := config.OtherNames[name]; cmd.Flags().Lookup(other) != nil {
		best = other
	}
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}
