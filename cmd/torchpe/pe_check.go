package main

import (
	"archive/zip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/npy"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
)

// checkHelper is Python code that writes the input of `torchpe pe check`.
//
//go:embed pe_check.py
var checkHelper string

// checkFlags holds the flags of "torchpe pe check".
type checkFlags struct {
	instanceFlags
	against, what string
	tolerance     float64
	helper        bool
	model         string // a config.json of transformers
	to            destination
}

func newPECheckCommand() *cobra.Command {
	f := checkFlags{to: destination{endings: []string{".npz"}}}
	cmd := &cobra.Command{
		Use:   "check [SCHEME] --against FILE|DIR",
		Short: "Compare another implementation's arrays with a scheme: which convention do they follow?",
		Long: `Compare arrays of another implementation with a scheme, and say which convention they follow or where
they first differ.

FILE is .npz, .safetensors or any other file of arrays that torchpe reads. In a directory, all files
are read, NAME.npy as the array NAME. Names of arrays:

  x, q, k, v           inputs: embeddings [N,D]; queries, keys and values [H,N,Dh] or [N,D]
  table, bias          added to the input [N,D]; added to the logits [H,N,N]
  cos, sin             of a rotation, [N,Dh/2], or [N,Dh] with one column per dimension
  x_out, q_out, k_out  x, q and k as the scheme changes them
  logits, weights      of q and k before and after the softmax, [H,N,N]
  pe.NAME              a trained parameter, named as in ` + "`torchpe pe values`" + `; or give --params

Sizes come from the arrays. Leading axes of length 1 are ignored. If a causal mask in the arrays hides
all keys after the query (-inf, or -1e8 and less), these are not compared; the output says so for a
scheme without such a mask. A file with one unnamed array holds the table or the bias of the scheme;
--what gives it another name.

The flags state the expected convention. If the arrays do not follow it, the command tries other
values of the scheme's options, and common errors of implementations: pairs and the layout of cosines
in their table, first position, part of a head, base, scale, sine and cosine, what is rotated, numbers
in half precision, ramps of scaled rotations, axes of a grid, slopes, buckets, direction and shift of
offsets; up to three at once. Bases, first positions and scales are estimated from the arrays.

With --model, the encodings of the layers come from a checkpoint's config.json, read as its family in
transformers reads it; docs/porting.md shows how to check a port.

The exit code is 0 if the arrays follow the scheme with these flags, else 1.`,
		Example: `  torchpe pe check rope --against mine.npz
  torchpe pe check 2d-fixed --against table.npy --positions 4x6
  torchpe pe check t5 --against arrays/ --t5-direction causal --json
  torchpe pe check --model config.json
  torchpe pe check --model config.json --layer 5 --tokens 64 --out cos_sin.npz
  torchpe pe check --helper > save_for_check.py`,
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.against, "against", "", "file or folder with the other implementation's arrays")
	fl.Var(choice{&f.what, catalogue.GivenNames()[4:]}, "what", "compare only this array, such as q_out")
	fl.Float64Var(&f.tolerance, "tolerance", 1e-4,
		"largest difference due to rounding, relative to 1 or the largest number of the array")
	fl.StringVar(&f.model, "model", "", "config.json of a checkpoint for Hugging Face's transformers, or its "+
		"folder: list the encoding of each layer, or take --layer of it")
	f.to.add(cmd, "with --model: .npz file for cos and sin, or the bias, of --layer for --tokens")
	fl.BoolVar(&f.helper, "helper", false, "print Python code for NumPy, PyTorch and JAX that writes such files")
	f.options = schemeFlags(cmd.Flags())
	cmd.MarkFlagsOneRequired("against", "helper", "model")
	cmd.MarkFlagsMutuallyExclusive("out", "against")
	return leaf(cmd, ofInput(f.run), &f.to)
}

func (f *checkFlags) run(c *call) (r result, err error) {
	switch {
	case f.helper:
		return result{print: printf("%s", checkHelper)}, nil
	case !(f.tolerance >= 0 && f.tolerance < 1):
		return r, fmt.Errorf("--tolerance %g: want a number in [0, 1)", f.tolerance)
	case f.model != "":
		return f.runModel(c)
	case len(c.args) == 0:
		return r, errors.New("pe check: give one SCHEME (torchpe pe list shows them)")
	}
	scheme, err := findScheme(c.args[0])
	if err != nil {
		return r, err
	}
	check := catalogue.Check{Scheme: scheme, Layer: f.layer, Member: f.member, Tolerance: f.tolerance}
	var unread error
	if check.Given, unread, err = f.readArrays(scheme); err != nil {
		return r, err
	}
	expected := f.Tokens
	check.Setting, check.Positions, err = f.fit(c, scheme, &check.Given)
	if err == nil && f.params != "" {
		err = checkSameRun(f.params, scheme, check.Setting)
	}
	if err == nil {
		r, err = f.outcome(check, "", "the scheme with these flags")
	}
	if err != nil {
		return r, errors.Join(err, unread)
	}
	if !c.given("tokens") && check.Positions.Tokens() != expected {
		f.notes = append(f.notes, fmt.Sprintf("%s, as the arrays have; --tokens N refuses another number",
			wording.Count(check.Positions.Tokens(), "token")))
	}
	r.notes = f.notes
	return r, nil
}

// outcome compares the arrays with what a check expects, and prints the result after head.
func (f *checkFlags) outcome(check catalogue.Check, head, expected string) (r result, err error) {
	found, err := check.Run()
	if err != nil {
		return r, fmt.Errorf("%s: %w", f.against, err)
	}
	r = result{value: found, print: printf("%s%v", head, found)}
	if !found.Follows {
		r.err = errors.New("the arrays do not follow " + expected)
	}
	return r, nil
}

// readArrays reads the arrays, and the parameters if they are in another file. unread is an error of parameters
// that could not be read.
func (f *checkFlags) readArrays(scheme pe.Scheme) (given catalogue.Given, unread, err error) {
	if given, err = catalogue.ReadGiven(f.against, f.what, f.header, scheme); err != nil {
		return given, nil, fmt.Errorf("--against: %w", err)
	}
	if f.params != "" {
		if given.Params, unread, err = arrayfile.ReadReal(f.params, f.header); err != nil {
			return given, nil, fmt.Errorf("--params: %w", err)
		}
	}
	return given, unread, nil
}

// fit returns the setting with the sizes of the arrays, and positions for that number of tokens.
func (f *checkFlags) fit(c *call, scheme pe.Scheme, g *catalogue.Given) (s catalogue.Setting,
	at pe.Positions, err error) {
	given := f.Setting
	defer func() { f.Setting = given }()
	f.Tokens, f.DModel, f.Heads = 16, 160, 1 // defaults, replaced by the sizes of the arrays
	if s, err = f.setting(c); err != nil {
		return s, at, err
	}
	fixed := map[byte]bool{}
	for flag, to := range map[string]struct {
		letter    byte
		value, in *int
	}{"tokens": {'N', &s.Tokens, &given.Tokens}, "dim": {'D', &s.DModel, &given.DModel},
		"heads": {'H', &s.Heads, &given.Heads}} {
		if c.given(flag) {
			fixed[to.letter], *to.value = true, *to.in
		}
	}
	if s, err = g.Fit(s, fixed); err != nil {
		return s, at, fmt.Errorf("%s: %w", f.against, err)
	}
	at, err = f.place(s, scheme)
	return s, at, err
}

// runModel describes the positional encoding of a checkpoint according to its configuration, and writes or
// compares the numbers of one of its layers.
func (f *checkFlags) runModel(c *call) (r result, err error) {
	if err := f.refuseForModel(c); err != nil {
		return r, err
	}
	model, err := catalogue.ReadCheckpoint(f.model)
	if err != nil {
		return r, fmt.Errorf("--model: %w", err)
	}
	switch {
	case f.to.path != "":
		arrays, err := model.Numbers(f.layer, f.Tokens)
		if err != nil {
			return r, fmt.Errorf("--out: %w", err)
		}
		r.print = printf("%s: %s\n", f.to.path, shapes(arrays))
		r.files = f.to.holding(func(w io.Writer) error { return writeNPZ(w, arrays) })
		return r, nil
	case f.against != "":
		return f.compareLayer(model)
	}
	return result{value: model, print: printf("%v", model)}, nil
}

// refuseForModel returns an error for arguments and flags that have no meaning with --model.
func (f *checkFlags) refuseForModel(c *call) error {
	if len(c.args) > 0 {
		return fmt.Errorf("%s: --model chooses the schemes of the layers", c.args[0])
	}
	flags := []string{"dim", "heads", "layers", "fidelity", "positions"}
	for name := range f.options {
		flags = append(flags, name)
	}
	slices.Sort(flags)
	for _, name := range flags {
		if c.given(name) {
			return fmt.Errorf("--%s: --model sets sizes and options", name)
		}
	}
	if f.to.path == "" && f.against == "" && (c.given("layer") || c.given("tokens")) {
		return errors.New("--layer and --tokens are for --out and --against: without these, all layers are listed")
	}
	return nil
}

// compareLayer compares arrays of a port with a layer.
func (f *checkFlags) compareLayer(model *catalogue.Checkpoint) (r result, err error) {
	layer, err := model.Layer(f.layer)
	if err != nil {
		return r, fmt.Errorf("--layer: %w", err)
	}
	given, _, err := f.readArrays(layer.Scheme())
	if err != nil {
		return r, err
	}
	check, err := model.Check(f.layer, given)
	if err != nil {
		return r, fmt.Errorf("--against: %w", err)
	}
	check.Member, check.Tolerance = f.member, f.tolerance
	own := check.Setting
	if check.Setting, err = check.Given.Fit(own, nil); err != nil {
		return r, fmt.Errorf("%s: %w", f.against, err)
	}
	now := check.Setting
	if hasBias := check.Scheme.Name == "alibi" || check.Scheme.Name == "t5"; hasBias && now.Heads != own.Heads {
		return r, fmt.Errorf("%s: the arrays have %s, and layer %d has %d", f.against, wording.Count(now.Heads, "head"),
			f.layer, own.Heads)
	}
	if here, there := now.DModel/now.Heads, own.DModel/own.Heads; here != there {
		return r, fmt.Errorf("%s: the arrays have heads of width %d, and those of layer %d have %d", f.against, here,
			f.layer, there)
	}
	if check.Positions, err = catalogue.Place("line", check.Setting.Tokens); err != nil {
		return r, err
	}
	return f.outcome(check, fmt.Sprintf("layer %d, %s\n", f.layer, layer.Encoding), "that layer")
}

func shapes(arrays []array.Array) string {
	var all []string
	for _, a := range arrays {
		all = append(all, fmt.Sprintf("%s %v", a.Name, a.Shape))
	}
	return strings.Join(all, ", ")
}

// writeNPZ writes arrays as numpy does.
func writeNPZ(w io.Writer, arrays []array.Array) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		member, err := z.Create(a.Name + ".npy")
		if err != nil {
			return err
		}
		if err := npy.Write(member, a, npy.Float64); err != nil {
			return err
		}
	}
	return z.Close()
}
