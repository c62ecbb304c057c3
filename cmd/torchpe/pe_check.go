package main

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"torchpe/data/array/arrayfile"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
)

// checkHelper is Python that writes what `torchpe pe check` reads.
//
//go:embed pe_check.py
var checkHelper string

// checkFlags are those of torchpe pe check.
type checkFlags struct {
	instanceFlags
	against, what  string
	tolerance      float64
	asJSON, helper bool
}

func newPECheckCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check SCHEME --against FILE|DIR",
		Short: "Hold another implementation's arrays against a scheme: which convention do they follow?",
		Long: `Compare arrays of another implementation with a scheme, and say which convention they follow
or where they first differ.

FILE is .npz, .safetensors, .json or any other file of arrays that torchpe reads; of a directory all
files are read, NAME.npy as the array NAME. Names of arrays:

  x, q, k, v           what goes in: embeddings [N,D]; queries, keys and values [H,N,Dh] or [N,D]
  table, bias          added to the input [N,D]; added to the logits [H,N,N]
  cos, sin             of a rotation, [N,Dh/2], or [N,Dh] with a column for each dimension
  x_out, q_out, k_out  what the scheme makes of x, q and k
  logits, weights      of q and k before and after the softmax, [H,N,N]
  pe.NAME              a trained parameter, as ` + "`torchpe pe values`" + ` has it; or give --params

Sizes come from the arrays. Axes of length 1 in front are ignored, and so are keys after the query
that are masked. A file of one array without a name holds a table or a bias, whichever the scheme
has; --what gives it another name.

The flags say which convention is expected. Where the arrays do not follow it, other values of the
scheme's options are tried, and errors that implementations have: pairs, first position, part of a
head, base, sine and cosine, scale, axes of a grid, direction and shift of offsets; up to three at
once.

The exit code is 0 where the arrays follow the scheme as it is here, else 1.`,
		Example: `  torchpe pe check rope --against mine.npz
  torchpe pe check 2d-fixed --against table.npy --positions 4x6
  torchpe pe check t5 --against arrays/ --t5-direction causal --json
  torchpe pe check --helper > save_for_check.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.helper {
				fmt.Fprint(cmd.OutOrStdout(), checkHelper)
				return nil
			}
			if err := oneScheme(cmd, args); err != nil {
				return err
			}
			return f.run(cmd, args[0])
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.against, "against", "", "file or directory with the other implementation's arrays")
	fl.StringVar(&f.what, "what", "", "compare the array of this name alone, such as q_out")
	fl.Float64Var(&f.tolerance, "tolerance", 1e-4,
		"difference that is rounding, relative to the largest number of an array or 1")
	fl.BoolVar(&f.asJSON, "json", false, "print as JSON")
	fl.BoolVar(&f.helper, "helper", false, "print Python for NumPy, PyTorch and JAX that writes such files")
	f.addOptions(cmd)
	return cmd
}

// errDiffers is the end of a check that found a difference, which was printed.
var errDiffers = errors.New("the arrays do not follow the scheme as it is here")

func (f *checkFlags) run(cmd *cobra.Command, name string) error {
	if f.against == "" {
		return usagef("%s: --against is missing: name a file or directory with arrays; --helper prints "+
			"Python that writes one", cmd.CommandPath())
	}
	if !(f.tolerance >= 0) {
		return usagef("--tolerance %g: want 0 or more", f.tolerance)
	}
	scheme, err := findScheme(name)
	if err != nil {
		return err
	}
	c := catalogue.Check{Scheme: scheme, Layer: f.layer, Tolerance: f.tolerance}
	if c.Given, err = catalogue.ReadGiven(f.against, f.what, f.header, scheme); err != nil {
		return usagef("--against: %w", err)
	}
	var unread error
	if f.params != "" {
		if c.Given.Params, unread, err = arrayfile.ReadReal(f.params, f.header); err != nil {
			return usagef("--params: %w", err)
		}
	}
	if c.Setting, c.Positions, err = f.place(cmd, scheme, &c.Given); err != nil {
		return err
	}
	found, err := c.Run()
	if err != nil {
		return usagef("%s: %w", f.against, errors.Join(err, unread))
	}
	if !f.asJSON {
		fmt.Fprint(cmd.OutOrStdout(), found)
	} else if err := printJSON(cmd.OutOrStdout(), found); err != nil {
		return err
	}
	if !found.Follows {
		return errDiffers
	}
	return nil
}

// place returns the setting with the sizes of the arrays, and positions for as many tokens.
func (f *checkFlags) place(cmd *cobra.Command, scheme pe.Scheme, g *catalogue.Given) (s catalogue.Setting,
	at pe.Positions, err error) {
	given := f.Setting
	f.Tokens, f.DModel, f.Heads = 16, 160, 1 // the arrays have sizes of their own
	if s, err = f.setting(cmd); err != nil {
		return s, at, err
	}
	fixed := map[byte]bool{}
	for flag, to := range map[string]struct {
		letter    byte
		value, in *int
	}{"tokens": {'N', &s.Tokens, &given.Tokens}, "dim": {'D', &s.DModel, &given.DModel},
		"heads": {'H', &s.Heads, &given.Heads}} {
		if cmd.Flags().Changed(flag) {
			fixed[to.letter], *to.value = true, *to.in
		}
	}
	if s, err = g.Fit(s, fixed); err != nil {
		return s, at, usagef("%s: %w", f.against, err)
	}
	at, notes, err := f.at(s, scheme)
	if err != nil {
		return s, at, usagef("--positions: %w", err)
	}
	for _, n := range notes {
		fmt.Fprintln(f.note, n)
	}
	return s, at, nil
}
