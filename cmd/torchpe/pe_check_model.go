package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/report/catalogue"
)

// runModel describes the positional encoding of a checkpoint by its configuration, and writes or compares
// the numbers of one of its layers.
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
		return f.holdAgainst(model)
	}
	return result{value: model, print: printf("%v", model)}, nil
}

// refuseForModel returns an error for what has no meaning with --model.
func (f *checkFlags) refuseForModel(c *call) error {
	if len(c.args) > 0 {
		return fmt.Errorf("%s: --model says which schemes the layers have", c.args[0])
	}
	flags := []string{"dim", "heads", "layers", "fidelity", "positions"}
	for name := range f.options {
		flags = append(flags, name)
	}
	slices.Sort(flags)
	for _, name := range flags {
		if c.given(name) {
			return fmt.Errorf("--%s: sizes and options are those of --model", name)
		}
	}
	if f.to.path == "" && f.against == "" && (c.given("layer") || c.given("tokens")) {
		return errors.New("--layer and --tokens are for --out and --against: without them all layers are listed")
	}
	return nil
}

// holdAgainst compares arrays of a port with a layer.
func (f *checkFlags) holdAgainst(model *catalogue.Checkpoint) (r result, err error) {
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
	check.Tolerance = f.tolerance
	if check.Setting, err = check.Given.Fit(check.Setting, nil); err != nil {
		return r, fmt.Errorf("%s: %w", f.against, err)
	}
	if check.Positions, err = catalogue.Place("line", check.Setting.Tokens); err != nil {
		return r, err
	}
	found, err := check.Run()
	if err != nil {
		return r, fmt.Errorf("%s: %w", f.against, err)
	}
	r = result{value: found, print: printf("layer %d, %s\n%v", f.layer, layer.Encoding, found)}
	if !found.Follows {
		r.err = errors.New("the arrays do not follow that layer")
	}
	return r, nil
}

// shapes lists names and shapes of arrays.
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
