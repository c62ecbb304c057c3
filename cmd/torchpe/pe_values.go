package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/positions"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/train"
	"torchpe/train/config"
)

// instanceFlags say with which parameters and for which positions a scheme is built.
type instanceFlags struct {
	peFlags
	sigma     float64
	seed      uint64
	params    string
	positions string
	as        string
	header    text.Choice
	layer     int
	member    int

	at   func(s catalogue.Setting, scheme pe.Scheme) (pe.Positions, []string, error)
	said map[string]bool // notes on positions that were printed
	note io.Writer       // where they are
}

func (f *instanceFlags) add(cmd *cobra.Command) {
	f.peFlags.add(cmd)
	fl := cmd.Flags()
	fl.Float64Var(&f.sigma, "sigma", 0.2, "standard deviation of the initial values of learned schemes")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of initial values and of drawn positions")
	fl.StringVar(&f.params, "params", "", "take the trained parameters from this .safetensors "+
		"(such as a run's checkpoint), .npz or .json file instead; JSON is an object of nested lists")
	fl.IntVar(&f.member, "member", 0,
		"member of the ensemble whose parameters --params takes from a checkpoint, from 0")
	fl.StringVar(&f.positions, "positions", "grid",
		"where tokens are: grid (the most square one of N), line, sizes as in 4x4 and 2x4x4, or a file as "+
			"torchpe train takes, whose tokens they are then")
	fl.StringVar(&f.as, "positions-as", "auto", config.PositionsAsHelp)
	headerFlag(fl, &f.header)
	fl.IntVar(&f.layer, "layer", 0, "layer, from 0")
}

// setting returns the setting of the flags, with as many tokens as a file of positions has.
func (f *instanceFlags) setting(cmd *cobra.Command) (catalogue.Setting, error) {
	f.said, f.note = map[string]bool{}, cmd.ErrOrStderr()
	f.at = func(s catalogue.Setting, _ pe.Scheme) (pe.Positions, []string, error) {
		at, err := catalogue.Place(f.positions, s.Tokens)
		return at, nil, err
	}
	if !f.namesFile() {
		if cmd.Flags().Changed("positions-as") {
			return f.Setting, usagef("--positions-as says what a file holds: --positions %s is none", f.positions)
		}
		return f.peFlags.setting(cmd)
	}
	as, err := positions.ParseForm(f.as)
	if err != nil {
		return f.Setting, usagef("--positions-as: %w", err)
	}
	file, err := positions.Read(f.positions, as, f.header)
	if err != nil {
		return f.Setting, usagef("--positions: %w", err)
	}
	own := file.Own()
	if !cmd.Flags().Changed("tokens") {
		if own.Count == 0 {
			return f.Setting, usagef("--positions: %s does not say how many tokens there are: say "+
				"it with --tokens", file.Source)
		}
		f.Tokens = own.Count
	}
	f.at = func(s catalogue.Setting, scheme pe.Scheme) (pe.Positions, []string, error) {
		tokens := positions.Tokens{Count: s.Tokens}
		if s.Tokens == own.Count {
			tokens.Names = own.Names
		}
		return train.Place(file, tokens, scheme)
	}
	return f.peFlags.setting(cmd)
}

// sizes holds the forms of --positions that name no file.
var sizes = regexp.MustCompile(`^(grid|line|[0-9]+(x[0-9]+)*)$`)

// namesFile says whether --positions names a file rather than a kind of positions.
func (f *instanceFlags) namesFile() bool {
	if sizes.MatchString(f.positions) {
		return false
	}
	_, _, err := arrayfile.Split(f.positions)
	return err == nil || strings.ContainsAny(f.positions, "./:")
}

// build makes the scheme called name; its caller closes it.
func (f *instanceFlags) build(name string, s catalogue.Setting) (*catalogue.Instance, error) {
	scheme, err := findScheme(name)
	if err != nil {
		return nil, err
	}
	at, notes, err := f.at(s, scheme)
	if err != nil {
		return nil, usagef("--positions: %w", err)
	}
	for _, n := range notes {
		if !f.said[n] {
			fmt.Fprintln(f.note, n)
			f.said[n] = true
		}
	}
	sigma := f.sigma
	if _, named := train.SplitLabel(name); named != nil { // learn-0.2
		sigma = *named
	}
	i, err := catalogue.Build(scheme, s, at, catalogue.Start{Sigma: sigma, Seed: f.seed})
	if err != nil {
		return nil, usageError{err}
	}
	if f.params == "" {
		return i, nil
	}
	given, unread, err := arrayfile.ReadReal(f.params, f.header)
	if err == nil {
		if err = i.Set(given, f.member); err != nil {
			err = errors.Join(err, unread)
		}
	}
	if err != nil {
		i.Close()
		return nil, usagef("--params: %w", err)
	}
	return i, nil
}

// valuesFlags holds the flags of "torchpe pe values".
type valuesFlags struct {
	instanceFlags
	outFlags
	want       catalogue.Want
	x, q, k, v string
	json       *bool
}

func newPEValuesCommand() *cobra.Command {
	var f valuesFlags
	cmd := &cobra.Command{
		Use:   "values SCHEME",
		Short: "Write the numbers of a scheme: its table, bias, rotated q and k, or logits",
		Long: `Write what a scheme computes, in float64, to hold it against another implementation.

  table    what is added to the input of a block, [N,D]
  bias     what becomes of logits that are zero, where all inputs are zero, [H,N,N]
  x        the embeddings of --x, which come into the block, as the scheme leaves them, [N,D]
  q, k, v  the queries of --q, the keys of --k or the values of --v as the scheme leaves them, [H,N,Dh]
  logits   those of --q and --k, before causal mask, temperature and softmax, [H,N,N]
  weights  what mask, temperature and softmax make of the logits, [H,N,N]; zeros stand for what is not given

Without --what it is logits where both --q and --k are given, else what the scheme makes of --x,
else the table or bias that it has. Embeddings are [N,D]; queries, keys and values [H,N,Dh], or
[N,D] with the heads side by side. Where --params hold the weights of the layer's projections
(block0.attn.in.weight [3D,D], q above k above v, and block0.attn.in.bias [3D], as a run's
checkpoint does), queries, keys and values are made of --x.`,
		Example: `  torchpe pe values 1d-fixed --tokens 16 --dim 160 --out table.npy
  torchpe pe values alibi --tokens 6 --dim 8 --heads 8 --out -
  torchpe pe values rope --tokens 16 --dim 64 --heads 4 --q q.npy --what q --out rotated.npy
  torchpe pe values conv-pos --tokens 16 --dim 64 --x embeddings.npy --params conv.npz --out y.npy
  torchpe pe values tisa --tokens 16 --dim 64 --heads 4 --params tisa.json --out bias.json`,
		Args: oneScheme,
		RunE: f.run,
	}
	f.instanceFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.want.Kind, "what", "", "values: "+strings.Join(catalogue.Kinds(), ", "))
	fl.StringVar(&f.x, "x", "", "embeddings [N,D], an .npy or .json file")
	fl.StringVar(&f.q, "q", "", "queries, an .npy or .json file")
	fl.StringVar(&f.k, "k", "", "keys, an .npy or .json file")
	fl.StringVar(&f.v, "v", "", "values, an .npy or .json file")
	f.outFlags.add(cmd, "file: .npy, .json, or - for JSON on the terminal")
	f.json = cmd.Flags().Bool("json", false, "print as JSON, as --out - does")
	f.addOptions(cmd)
	return cmd
}

func (f *valuesFlags) run(cmd *cobra.Command, args []string) error {
	s, err := f.setting(cmd)
	if err != nil {
		return err
	}
	switch {
	case *f.json && f.out != "" && f.out != "-":
		return usagef("%s: --json prints the numbers, and --out %s writes them: give one", cmd.CommandPath(), f.out)
	case *f.json:
		f.out = "-"
	case f.out == "":
		return usagef("%s: --out is missing: name an .npy or .json file, or - for JSON on the terminal",
			cmd.CommandPath())
	}
	if f.out != "-" {
		if err := f.check(".npy", ".json"); err != nil {
			return err
		}
	}
	w := f.want
	for _, in := range []struct {
		flag, path string
		to         *array.Array
	}{{"x", f.x, &w.X}, {"q", f.q, &w.Q}, {"k", f.k, &w.K}, {"v", f.v, &w.V}} {
		if in.path == "" {
			continue
		}
		if *in.to, err = catalogue.ReadArray(in.path, f.header); err != nil {
			return usagef("--%s: %w", in.flag, err)
		}
	}
	i, err := f.build(args[0], s)
	if err != nil {
		return err
	}
	defer i.Close()
	w.Layer = f.layer
	var values array.Array
	if values, w.Kind, err = i.Values(w); err != nil {
		return usageError{err}
	}
	return f.writeValues(cmd.OutOrStdout(), i, w, values)
}

// writeValues writes the values that were wanted to --out, and says what they are where that is a file.
func (f *valuesFlags) writeValues(out io.Writer, i *catalogue.Instance, w catalogue.Want, values array.Array) error {
	if f.out == "-" {
		return i.WriteJSON(out, w.Kind, w.Layer, values)
	}
	body, err := catalogue.NPY(values)
	if strings.HasSuffix(strings.ToLower(f.out), ".json") {
		var b bytes.Buffer
		err = i.WriteJSON(&b, w.Kind, w.Layer, values)
		body = b.Bytes()
	}
	if err != nil {
		return err
	}
	if err := f.write(body); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s of %s, layer %d, %v\nparameters: %s\n", f.out, w.Kind,
		i.Scheme.Name, w.Layer, values.Shape, i.Parameters())
	return nil
}
