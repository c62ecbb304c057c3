package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/train"
)

func newPECommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pe",
		Short: "The catalogue of positional encodings: facts, values, pictures",
		Long: `What each positional encoding is, what it costs at a given size, the numbers that it adds
or turns by, pictures of them, Python files with them, and which of their conventions another
implementation follows.

A SCHEME is a name from "torchpe pe list", or several joined by + that act together, as in rope+learn.`,
		Example: `  torchpe pe list --where translation_invariant=yes
  torchpe pe show tisa --heads 12 --layers 12 --dim 768 --tokens 512
  torchpe pe values 1d-fixed --tokens 16 --dim 160 --out table.npy
  torchpe pe plot alibi --heads 4 --out alibi.pdf
  torchpe pe plot learn rope tisa --out three.pdf`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newPEListCommand(), newPEShowCommand(), newPEValuesCommand(), newPEPlotCommand(),
		newPECheckCommand(), newPEExportCommand())
	return cmd
}

// peFlags say at what size, in which reading and with which options schemes are described.
type peFlags struct {
	catalogue.Setting
	options map[string]*string
}

func (f *peFlags) add(cmd *cobra.Command) {
	f.Setting = catalogue.DefaultSetting()
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.Tokens, "tokens", f.Tokens, "tokens N")
	fl.IntVar(&f.DModel, "dim", f.DModel, "model width D")
	fl.IntVar(&f.Heads, "heads", f.Heads, "heads H")
	fl.IntVar(&f.Layers, "layers", f.Layers, "layers L")
	fl.StringVar(&f.Fidelity, "fidelity", f.Fidelity,
		"whose defaults hold where they differ: code (published) or text (of the paper)")
}

// addOptions adds a flag for each option of the schemes; call it last.
func (f *peFlags) addOptions(cmd *cobra.Command) { f.options = schemeFlags(cmd.Flags()) }

// setting returns the setting that the flags ask for.
func (f *peFlags) setting(cmd *cobra.Command) (catalogue.Setting, error) {
	if err := f.Validate(); err != nil {
		return f.Setting, usageError{err}
	}
	f.Given = pe.Options{}
	for name, value := range f.options {
		if cmd.Flags().Changed(name) {
			f.Given[name] = *value
		}
	}
	return f.Setting, nil
}

// oneScheme accepts one argument, a scheme; another number is a usage error.
func oneScheme(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: name one scheme (torchpe pe list shows them), not %d; + stacks "+
			"several, as in rope+learn", cmd.CommandPath(), len(args))
	}
	return nil
}

// findScheme returns the scheme of a name, or of a label such as learn-0.2. An unknown one is a usage
// error.
func findScheme(label string) (pe.Scheme, error) {
	name, _ := train.SplitLabel(label)
	s, err := pe.Find(name)
	if err != nil {
		return s, usageError{err}
	}
	return s, nil
}

// peListFlags holds the flags of "torchpe pe list".
type peListFlags struct {
	peFlags
	json, csv, markdown bool
	where               []string
	pictures            string
}

func newPEListCommand() *cobra.Command {
	var f peListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all schemes: where they act, their parameters, TISA's criteria, reference",
		Example: `  torchpe pe list
  torchpe pe list --tokens 512 --dim 768 --heads 12 --layers 12
  torchpe pe list --where extrapolates=yes --where "year>=2021" --where acts_on=logits
  torchpe pe list --json`,
		Args: noArguments,
		RunE: f.run,
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.where, "where", nil,
		"KEY=VALUE, only schemes of which this holds; also !=, >= and <=; keys: "+
			strings.Join(catalogue.FieldNames(), ", "))
	fl.BoolVar(&f.json, "json", false, "print as JSON, with formulas and options")
	fl.BoolVar(&f.csv, "csv", false, "print as CSV")
	fl.BoolVar(&f.markdown, "markdown", false, "print docs/encodings.md")
	fl.StringVar(&f.pictures, "pictures", "",
		"draw a small picture of each scheme instead, into an .svg file a family in this directory")
	cmd.MarkFlagsMutuallyExclusive("json", "csv", "markdown", "pictures")
	cmd.MarkFlagsMutuallyExclusive("where", "markdown")
	cmd.MarkFlagsMutuallyExclusive("where", "pictures")
	return cmd
}

func (f *peListFlags) run(cmd *cobra.Command, _ []string) error {
	s, err := f.setting(cmd)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch {
	case f.pictures != "":
		return drawSheets(out, f.pictures)
	case f.markdown:
		page, err := catalogue.Page(s)
		fmt.Fprint(out, page)
		return err
	}
	all, err := catalogue.Entries(s)
	if err != nil {
		return err
	}
	if all, err = catalogue.Where(all, f.where); err != nil {
		return usagef("--where: %w", err)
	}
	switch {
	case f.json:
		return printJSON(out, all)
	case f.csv:
		return catalogue.List(all, s, false).CSV(out)
	}
	if err := catalogue.List(all, s, true).Terminal(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d schemes. %s\n", len(all), catalogue.Stacks)
	return nil
}

// drawSheets draws the pictures of all schemes into a directory and prints what was written.
func drawSheets(out io.Writer, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	files, without, err := catalogue.Sheets(folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nnothing to draw: %s\n%s\n", strings.Join(files, "\n"), strings.Join(without, ", "),
		catalogue.SheetNote)
	return nil
}

func newPEShowCommand() *cobra.Command {
	var f peFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SCHEME",
		Short: "Show a scheme: formula, parameters, options with defaults, reference",
		Example: `  torchpe pe show tisa --tokens 512 --dim 768 --heads 12 --layers 12
  torchpe pe show rope+learn --json`,
		Args: oneScheme,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.setting(cmd)
			if err != nil {
				return err
			}
			scheme, err := findScheme(args[0])
			if err != nil {
				return err
			}
			e, err := catalogue.Describe(scheme, s)
			if err != nil {
				return usageError{err}
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), e)
			}
			fmt.Fprint(cmd.OutOrStdout(), catalogue.Show(e, s))
			return nil
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	f.addOptions(cmd)
	return cmd
}
