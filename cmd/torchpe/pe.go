package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/train"
)

func newPECommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "pe",
		Short: "The catalogue of positional encodings: facts, values, figures",
		Long: `For each positional encoding: what it is, what it costs at a given size, the numbers that it adds
or rotates by, figures, a Python file, and which of its conventions another implementation follows.

A SCHEME is a name from "torchpe pe list", or several joined by + that act together, as in rope+learn.
rope@1-3,nope@4 and rope*3,nope give layers different schemes.`,
		Example: `  torchpe pe list --where translation_invariant=yes
  torchpe pe show tisa --heads 12 --layers 12 --dim 768 --tokens 512
  torchpe pe values 1d-fixed --tokens 16 --dim 160 --out table.npy
  torchpe pe plot alibi --heads 4 --out alibi.pdf
  torchpe pe plot learn rope tisa --out three.pdf`,
	}, newPEListCommand(), newPEShowCommand(), newPEValuesCommand(), newPEPlotCommand(),
		newPECheckCommand(), newPEExportCommand())
}

// peFlags holds the size, the reading of the paper and the options with which schemes are described.
type peFlags struct {
	catalogue.Setting
	options map[string]*string
}

// add declares all flags except those of options, which come last.
func (f *peFlags) add(cmd *cobra.Command) {
	f.Setting = catalogue.DefaultSetting()
	fl := cmd.Flags()
	fl.IntVar(&f.Tokens, "tokens", f.Tokens, "tokens N")
	fl.IntVar(&f.DModel, "dim", f.DModel, "model width D")
	fl.IntVar(&f.Heads, "heads", f.Heads, "heads H")
	fl.IntVar(&f.Layers, "layers", f.Layers, "layers L")
	fl.Var(choice{&f.Fidelity, readings}, "fidelity",
		"default options: those of the published code, or of the paper's text")
}

func (f *peFlags) setting(c *call) (catalogue.Setting, error) {
	f.Given = pe.Options{}
	for name, value := range f.options {
		if c.given(name) {
			f.Given[name] = *value
		}
	}
	return f.Setting, f.Validate()
}

// findScheme returns the scheme with a name, or with a label such as learn-0.2.
func findScheme(label string) (pe.Scheme, error) {
	name, _ := train.SplitLabel(label)
	return pe.Find(name)
}

// peListFlags holds the flags of "torchpe pe list".
type peListFlags struct {
	peFlags
	where []string
}

func newPEListCommand() *cobra.Command {
	var f peListFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all schemes: where they act, parameters, reference; --csv also has TISA's criteria",
		Example: `  torchpe pe list
  torchpe pe list --tokens 512 --dim 768 --heads 12 --layers 12
  torchpe pe list --where extrapolates=yes --where 'year>=2021,acts_on~*logits*'
  torchpe pe list --json`,
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&f.where, "where", nil,
		"filter, such as causal=no,year>=2021; OP is one of = != < <= > >= and, for patterns with * and ?, ~ and !~; "+
			"may be given several times; keys: "+strings.Join(catalogue.Keys(), ", "))
	return tabled(cmd, ofInput(f.run))
}

func (f *peListFlags) run(c *call) (r result, err error) {
	s, err := f.setting(c)
	if err != nil {
		return r, err
	}
	all, _, err := catalogue.DescribeAll(pe.Schemes(), s)
	if err != nil {
		return r, err
	}
	if all, err = catalogue.Where(all, f.where); err != nil {
		return r, fmt.Errorf("--where: %w", err)
	}
	t := catalogue.List(all, s, c.csv == "")
	return result{value: all, table: &t, print: printf("\n%d schemes. %s\n", len(all), catalogue.Stacks)}, nil
}

func newPEShowCommand() *cobra.Command {
	var f peFlags
	cmd := &cobra.Command{
		Use:   "show SCHEME",
		Short: "Show a scheme: formula, parameters, options with defaults, reference",
		Example: `  torchpe pe show tisa --tokens 512 --dim 768 --heads 12 --layers 12
  torchpe pe show rope+learn --json`,
	}
	f.add(cmd)
	f.options = schemeFlags(cmd.Flags())
	return leaf(cmd, ofInput(func(c *call) (r result, err error) {
		s, err := f.setting(c)
		if err != nil {
			return r, err
		}
		scheme, err := findScheme(c.args[0])
		if err != nil {
			return r, err
		}
		e, err := catalogue.Describe(scheme, s)
		if err != nil {
			return r, err
		}
		return result{value: e, print: printf("%s", catalogue.Show(e, s))}, nil
	}))
}
