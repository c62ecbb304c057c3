package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/models/pe"
	"torchpe/report/catalogue"
)

// plotFlags holds the flags of "torchpe pe plot".
type plotFlags struct {
	instanceFlags
	outFlags
	x    string
	json *bool
}

func newPEPlotCommand() *cobra.Command {
	var f plotFlags
	cmd := &cobra.Command{
		Use:   "plot SCHEME...",
		Short: "Draw one scheme in full, or several side by side with their facts",
		Long: `Draw the table of a scheme that adds one, with the dot products of its rows; the bias of
one that adds to the logits, for each head; and for one that turns queries and keys the logits of a
query and a key that are all ones, at all places. Below, the same against the distance.

Several schemes are drawn side by side, the first picture of each, and their facts are printed: their
numbers of parameters, where they act, TISA's criteria and formulas. An option is of the schemes that
have it.

Where what is added depends on the embeddings (conv-pos), it is drawn for those of --x, or for one
token of ones among zeros; where it is added to what queries and keys are made of (detr), as it is
before their projection; where there is a causal mask alone (c-nope), as the attention of equal
queries and keys.`,
		Example: `  torchpe pe plot 2d-fixed --out 2d-fixed.pdf
  torchpe pe plot alibi --tokens 32 --heads 4 --out alibi.svg
  torchpe pe plot 1d-fixed alibi t5 rope --heads 4 --out four.pdf
  torchpe pe plot graphormer --positions edges.csv --out graph.pdf
  torchpe pe plot learn --params table.json --out learned.png`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return oneScheme(cmd, args)
			}
			return nil
		},
		RunE: f.run,
	}
	f.instanceFlags.add(cmd)
	cmd.Flags().StringVar(&f.x, "x", "",
		"embeddings [N,D] for schemes whose addition depends on them, an .npy or .json file")
	f.outFlags.add(cmd, "file: .pdf, .png or .svg")
	f.json = cmd.Flags().Bool("json", false, "print the facts as JSON")
	f.addOptions(cmd)
	return cmd
}

func (f *plotFlags) run(cmd *cobra.Command, names []string) error {
	s, err := f.setting(cmd)
	if err != nil {
		return err
	}
	if f.out == "" {
		return usagef("%s: --out is missing: name a .pdf, .png or .svg file", cmd.CommandPath())
	}
	if err := f.check(".pdf", ".png", ".svg"); err != nil {
		return err
	}
	if len(names) > 1 && f.params != "" {
		return usagef("--params is of one scheme: %d are named", len(names))
	}
	entries, settings, err := describeAll(names, s)
	if err != nil {
		return err
	}
	if err := f.draw(names, settings); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if *f.json {
		return printJSON(out, entries)
	}
	fmt.Fprintf(out, "%s: %s, layer %d\n", f.out, strings.Join(names, ", "), f.layer)
	if len(names) == 1 {
		return nil
	}
	fmt.Fprintln(out)
	if err := catalogue.Compare(entries).Terminal(out); err != nil {
		return err
	}
	fmt.Fprint(out, catalogue.Formulas(entries))
	return nil
}

// draw draws the named schemes to --out.
func (f *plotFlags) draw(names []string, settings []catalogue.Setting) error {
	var all []*catalogue.Instance
	defer func() {
		for _, i := range all {
			i.Close()
		}
	}()
	for k, name := range names {
		i, err := f.build(name, settings[k])
		if err != nil {
			return err
		}
		all = append(all, i)
		if f.x == "" {
			continue
		}
		if i.X, err = catalogue.ReadArray(f.x, f.header); err != nil {
			return usagef("--x: %w", err)
		}
	}
	fig, err := catalogue.Plot(all, f.layer)
	if err != nil {
		return usageError{err}
	}
	return fig.Save(f.out, "")
}

// describeAll describes the named schemes. Each takes those of the given options that it has; one
// that none has is an error.
func describeAll(names []string, s catalogue.Setting) (all []catalogue.Entry, each []catalogue.Setting, err error) {
	used := map[string]bool{}
	for _, name := range names {
		scheme, err := findScheme(name)
		if err != nil {
			return nil, nil, err
		}
		own := s
		own.Given = pe.Options{}
		for _, o := range scheme.Options {
			if v, ok := s.Given[o.Name]; ok {
				own.Given[o.Name], used[o.Name] = v, true
			}
		}
		e, err := catalogue.Describe(scheme, own)
		if err != nil {
			return nil, nil, usageError{err}
		}
		all, each = append(all, e), append(each, own)
	}
	for name := range s.Given {
		if !used[name] {
			return nil, nil, usagef("--%s is no option of %s", name, strings.Join(names, ", "))
		}
	}
	return all, each, nil
}
