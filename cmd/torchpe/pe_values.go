package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/npy"
	"torchpe/data/array/safetensors"
	"torchpe/data/array/text"
	"torchpe/data/positions"
	"torchpe/internal/atomicfile"
	"torchpe/models/export"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/train"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// instanceFlags holds the parameters and positions that a scheme is built with.
type instanceFlags struct {
	peFlags
	start     catalogue.Start
	params    string
	positions string
	as        string
	header    text.Choice
	layer     int
	member    int

	file  *positions.File // of --positions; nil if it does not name a file
	notes []string        // on the file
}

func (f *instanceFlags) add(cmd *cobra.Command) {
	f.peFlags.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.params, "params", "", "take the trained parameters from this .safetensors "+
		"(such as a run's checkpoint) or .npz file instead")
	fl.IntVar(&f.member, "member", 0,
		"member of the ensemble whose parameters --params takes from a checkpoint, from 0")
	fl.StringVar(&f.positions, "positions", "grid",
		"positions of the tokens: grid (as square as N allows), line, sizes such as 4x4 and 2x4x4, or a file as "+
			"for torchpe train, which also sets the number of tokens")
	fl.StringVar(&f.as, "positions-as", "auto", config.PositionsAsHelp)
	headerFlag(fl, &f.header)
	fl.IntVar(&f.layer, "layer", 0, "layer, from 0")
}

func (f *instanceFlags) addStart(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Float64Var(&f.start.Sigma, "sigma", 0.2, "standard deviation of the initial values of learned schemes")
	fl.Uint64Var(&f.start.Seed, "seed", 1, "seed of initial values and of drawn positions")
}

// setting returns the setting of the flags. A file of positions sets the number of tokens.
func (f *instanceFlags) setting(c *call) (catalogue.Setting, error) {
	if err := f.refuseIdle(c); err != nil {
		return f.Setting, err
	}
	if !f.namesFile() {
		if c.given("positions-as") {
			return f.Setting, fmt.Errorf("--positions-as is only for files: --positions %s is none", f.positions)
		}
		return f.peFlags.setting(c)
	}
	as, err := positions.ParseForm(f.as)
	if err != nil {
		return f.Setting, fmt.Errorf("--positions-as: %w", err)
	}
	if f.file, err = positions.Read(f.positions, as, f.header); err != nil {
		return f.Setting, fmt.Errorf("--positions: %w", err)
	}
	if own := f.file.Own(); !c.given("tokens") {
		if own.Count == 0 {
			return f.Setting, fmt.Errorf("--positions: %s does not say how many tokens there are: give --tokens",
				f.file.Source)
		}
		f.Tokens = own.Count
	}
	return f.peFlags.setting(c)
}

// refuseIdle returns an error for a flag without an effect.
func (f *instanceFlags) refuseIdle(c *call) error {
	if c.given("member") && f.params == "" {
		return fmt.Errorf("--member %d: it chooses a member in --params: give --params too", f.member)
	}
	if !c.given("sigma") || len(c.args) == 0 {
		return nil
	}
	for _, name := range c.args {
		scheme, err := findScheme(name)
		if _, named := train.SplitLabel(name); err != nil || scheme.Learned && named == nil && f.params == "" {
			return err
		}
	}
	return fmt.Errorf("--sigma %g has no effect on %s: --params or the name sets the numbers that start with sigma, "+
		"or the scheme has none: leave --sigma out", f.start.Sigma, strings.Join(c.args, " and "))
}

// sizes matches the forms of --positions that do not name a file.
var sizes = regexp.MustCompile(`^(grid|line|[0-9]+(x[0-9]+)*)$`)

// namesFile reports whether --positions names a file rather than a kind of positions.
func (f *instanceFlags) namesFile() bool {
	if sizes.MatchString(f.positions) {
		return false
	}
	_, _, err := arrayfile.Split(f.positions)
	return err == nil || strings.ContainsAny(f.positions, "./:")
}

func (f *instanceFlags) place(s catalogue.Setting, scheme pe.Scheme) (at pe.Positions, err error) {
	var notes []string
	if f.file == nil {
		at, err = catalogue.Place(f.positions, s.Tokens)
	} else {
		if scheme.Needs == pe.NeedsGraph && f.as == "auto" && f.file.Form == positions.Grid && f.file.JoinsTokens() {
			return at, fmt.Errorf("--positions: the rows of %s may be places on a grid or edges between tokens: "+
				"choose with --positions-as grid or edges", f.file.Source)
		}
		tokens := positions.Tokens{Count: s.Tokens}
		if own := f.file.Own(); s.Tokens == own.Count {
			tokens.Names = own.Names
		}
		options, optionsErr := scheme.Resolve(s.Fidelity, s.Given)
		if optionsErr != nil {
			return at, optionsErr
		}
		at, notes, err = train.Place(f.file, tokens, scheme, options)
	}
	if err != nil {
		return at, fmt.Errorf("--positions: %w", err)
	}
	for _, n := range notes {
		if !slices.Contains(f.notes, n) {
			f.notes = append(f.notes, n)
		}
	}
	return at, nil
}

// matchRows brings named rows of arrays into the order of the tokens.
func (f *instanceFlags) matchRows(s catalogue.Setting, arrays ...*arrayfile.Array) ([]string, error) {
	if f.file == nil {
		return catalogue.MatchRows(arrays, "", nil)
	}
	own := f.file.Own()
	if own.Count != s.Tokens { // place refuses it, or it has no names
		own.Names = nil
	}
	return catalogue.MatchRows(arrays, f.file.Source, own.Names)
}

// build builds the scheme called name; its caller closes it.
func (f *instanceFlags) build(name string, s catalogue.Setting) (*catalogue.Instance, error) {
	scheme, err := findScheme(name)
	if err != nil {
		return nil, err
	}
	at, err := f.place(s, scheme)
	if err != nil {
		return nil, err
	}
	start := f.start
	if _, named := train.SplitLabel(name); named != nil { // learn-0.2
		start.Sigma = *named
	}
	i, err := catalogue.Build(scheme, s, at, start)
	if err != nil {
		return nil, err
	}
	if f.params == "" {
		return i, nil
	}
	if err := checkSameRun(f.params, scheme, s); err != nil {
		i.Close()
		return nil, err
	}
	given, unread, err := arrayfile.ReadReal(f.params, f.header)
	if err == nil {
		if err = i.Set(given, f.member); err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", f.params, err), unread)
		}
	}
	if err != nil {
		i.Close()
		return nil, fmt.Errorf("--params: %w", err)
	}
	return i, nil
}

// checkSameRun returns an error if a file of parameters says that its run has another encoding, or other options than
// those that are not given here.
func checkSameRun(path string, scheme pe.Scheme, s catalogue.Setting) error {
	if filepath.Ext(path) != ".safetensors" {
		return nil
	}
	f, err := safetensors.Read(path)
	if err != nil || f.Metadata[runlog.ConfigKey] == "" {
		return nil // what reads the numbers says what is wrong
	}
	run, err := config.Parse([]byte(f.Metadata[runlog.ConfigKey]))
	if err != nil {
		return nil // not a run of this version
	}
	if run.PE != scheme.Name {
		return fmt.Errorf("--params: %s: its run has %s, not %s", path, run.PE, scheme.Name)
	}
	of, err := scheme.Resolve(run.Fidelity, run.PEOptions)
	if err != nil {
		return fmt.Errorf("--params: %s: %w", path, err)
	}
	own, err := scheme.Resolve(s.Fidelity, s.Given)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if _, isGiven := s.Given[name]; of[name] != own[name] && !isGiven {
			return fmt.Errorf("--params: %s: its run has --%s %s, here it is %s: give it", path, name, of[name],
				own[name])
		}
	}
	return nil
}

// valuesFlags holds the flags of "torchpe pe values".
type valuesFlags struct {
	instanceFlags
	to     destination
	want   catalogue.Want
	inputs [4]string // files of x, q, k and v
}

func newPEValuesCommand() *cobra.Command {
	f := valuesFlags{to: destination{endings: []string{".npy", ".json"}}}
	cmd := &cobra.Command{
		Use:   "values SCHEME",
		Short: "Write the numbers of a scheme: its table, bias, rotated q and k, or logits",
		Long: `Write the numbers of a scheme, in float64, for comparison with another implementation.

  table    the numbers added to the input of a block, [N,D]
  bias     the logits for inputs of zeros, [H,N,N]
  x        the embeddings of --x, the input of the block, as changed by the scheme, [N,D]
  q, k, v  the queries of --q, the keys of --k or the values of --v as changed by the scheme, [H,N,Dh]
  logits   of --q and --k, before causal mask, temperature and softmax, [H,N,N]
  weights  the logits after mask, temperature and softmax, [H,N,N]; a missing input is zeros

The default of --what is logits if both --q and --k are given, x if --x is given, else the table or
bias of the scheme. Embeddings are [N,D]; queries, keys and values [H,N,Dh], or [N,D] with the heads
side by side. Rows with names are matched by name: with the names of --positions, else with those of the
first input. If --params has the weights of the layer's projections (block0.attn.in.weight [3D,D], q
above k above v, and block0.attn.in.bias [3D], as in a run's checkpoint), queries, keys and values are
computed from --x.`,
		Example: `  torchpe pe values 1d-fixed --tokens 16 --dim 160 --out table.npy
  torchpe pe values alibi --tokens 6 --dim 8 --heads 8 --out -
  torchpe pe values rope --tokens 16 --dim 64 --heads 4 --q q.npy --what q --out rotated.npy
  torchpe pe values conv-pos --tokens 16 --dim 64 --x embeddings.npy --params conv.npz --out y.npy
  torchpe pe values tisa --tokens 16 --dim 64 --heads 4 --params tisa.npz --out bias.npy`,
	}
	f.add(cmd)
	f.addStart(cmd)
	fl := cmd.Flags()
	fl.Var(choice{&f.want.Kind, catalogue.Kinds()}, "what", "values: "+strings.Join(catalogue.Kinds(), ", "))
	for i, in := range [4][2]string{{"x", "embeddings [N,D]"}, {"q", "queries"}, {"k", "keys"}, {"v", "values"}} {
		fl.StringVar(&f.inputs[i], in[0], "", in[1]+", an .npy or .csv file")
	}
	f.to.add(cmd, "file: .npy, .json, or - for JSON on the terminal")
	f.options = schemeFlags(cmd.Flags())
	leaf(cmd, ofInput(f.run), &f.to)
	cmd.MarkFlagsMutuallyExclusive("json", "out")
	cmd.MarkFlagsOneRequired("json", "out")
	return cmd
}

func (f *valuesFlags) run(c *call) (r result, err error) {
	s, err := f.setting(c)
	if err != nil {
		return r, err
	}
	w, given := f.want, [4]arrayfile.Array{}
	for i, file := range f.inputs {
		if file == "" {
			continue
		}
		if given[i], err = catalogue.ReadArray(file, f.header); err != nil {
			return r, fmt.Errorf("--%s: %w", "xqkv"[i:i+1], err)
		}
	}
	notes, err := f.matchRows(s, &given[0], &given[1], &given[2], &given[3])
	if err != nil {
		return r, err
	}
	w.X, w.Q, w.K, w.V = given[0].Array, given[1].Array, given[2].Array, given[3].Array
	i, err := f.build(c.args[0], s)
	if err != nil {
		return r, err
	}
	defer i.Close()
	w.Layer = f.layer
	values, kind, err := i.Values(w)
	if err != nil {
		return r, err
	}
	if idle := i.Idle(w, kind, values); idle != "" {
		return r, fmt.Errorf("--%s does not change %s of %s in layer %d: leave it out, or choose other values "+
			"with --what", idle, kind, i.Scheme.Name, f.layer)
	}
	r.notes = slices.Concat(f.notes, notes)
	printed := c.json || f.to.path == "-"
	var text bytes.Buffer
	if printed || strings.HasSuffix(strings.ToLower(f.to.path), ".json") {
		err = i.WriteJSON(&text, kind, f.layer, values)
	} else {
		err = npy.Write(&text, values, npy.Float64)
	}
	if printed {
		c.json = false // the file is JSON already
		r.print = printf("%s", text.Bytes())
		return r, err
	}
	r.files = f.to.holding(atomicfile.Text(text.Bytes()))
	r.print = printf("%s: %s of %s, layer %d, %v\nparameters: %s\n", f.to.path, kind, i.Scheme.Name, f.layer,
		values.Shape, i.Parameters())
	return r, err
}

func newPEExportCommand() *cobra.Command {
	var f instanceFlags
	to := destination{endings: []string{".py"}, force: true}
	cmd := &cobra.Command{
		Use:   "export SCHEME",
		Short: "Write a scheme as one Python file for PyTorch",
		Long: `Write a scheme, with its options and at a given size, as one Python file that needs only PyTorch. Its
docstring has the formula, the paper and the differences between implementations. It computes the same
numbers as torchpe.

Trained numbers (initial ones, or those of --params) and fixed tables, such as sines and cosines, are in
a .safetensors file of the same name beside it. Without --out the text is printed.`,
		Example: `  torchpe pe export rope --out rope.py
  torchpe pe export alibi --tokens 32 --dim 64 --heads 8
  torchpe pe export learn --params table.npz --out learn.py`,
	}
	f.add(cmd)
	f.addStart(cmd)
	to.add(cmd, "file: .py")
	f.options = schemeFlags(cmd.Flags())
	return action(cmd, ofInput(func(c *call) (r result, err error) {
		out := to.path
		s, err := f.setting(c)
		if err != nil {
			return r, err
		}
		i, err := f.build(c.args[0], s)
		if err != nil {
			return r, err
		}
		defer i.Close()
		r.notes = f.notes
		numbers := strings.TrimSuffix(out, ".py") + ".safetensors"
		if out == "" {
			numbers = i.Scheme.Name + ".safetensors"
		}
		m, err := export.NewModule(i.Model(), numbers)
		if err != nil {
			return r, err
		}
		if out == "" {
			if m.Numbers != nil {
				r.notes = append(r.notes, fmt.Sprintf("the numbers in %s are written only with --out", numbers))
			}
			r.print = printf("%s", m.Text)
			return r, nil
		}
		r.files = to.holding(atomicfile.Text([]byte(m.Text)))
		r.print = printf("%s\n", out)
		if m.Numbers != nil {
			r.files = append(r.files, atomicfile.File{Path: numbers, Body: func(w io.Writer) error {
				return safetensors.Encode(w, m.Numbers, map[string]string{"format": "pt"})
			}})
			r.print = printf("%s\n%s\n", out, numbers)
		}
		return r, nil
	}), &to)
}
