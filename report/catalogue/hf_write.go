package catalogue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"torchpe/data/array"
	"torchpe/internal/wording"
	"torchpe/models/pe"
)

// shortOption returns the name of an option in the parentheses after a scheme: the part after its first dash,
// unless that names another option.
func shortOption(scheme pe.Scheme, name string) string {
	_, short, ok := strings.Cut(name, "-")
	count := 0
	for _, o := range scheme.Options {
		if o.Name == short || strings.HasSuffix(o.Name, "-"+short) {
			count++
		}
	}
	if !ok || count != 1 {
		return name
	}
	return short
}

// shown lists the options that are written even with their usual values.
var shown = []string{"rope-base", "rope-scale"}

// Scheme returns the scheme of a layer.
func (l CheckpointLayer) Scheme() pe.Scheme {
	scheme, err := pe.Find(l.scheme)
	if err != nil {
		panic(err) // schemes here are in the registry
	}
	return scheme
}

// written returns the options of a layer to write: those with unusual values, and those in shown, but not the
// layout, which is the same for all layers.
func (l CheckpointLayer) written() (names []string) {
	usual, _ := l.Scheme().Resolve("code", nil)
	for _, name := range slices.Sorted(maps.Keys(l.options)) {
		if name != "rope-layout" && l.options[name] != usual[name] || slices.Contains(shown, name) {
			names = append(names, name)
		}
	}
	return names
}

// notation returns the scheme of a layer with its options, as in rope(base=10000).
func (l CheckpointLayer) notation() string {
	var all []string
	for _, name := range l.written() {
		all = append(all, shortOption(l.Scheme(), name)+"="+l.options[name])
	}
	if all == nil {
		return l.scheme
	}
	return l.scheme + "(" + strings.Join(all, ",") + ")"
}

// repeated returns values of layers in the notation of --pe and --window: value*3,other. A single value stands
// for equal ones.
func repeated(of []string) string {
	period := 1
	for !slices.Equal(of[period:], of[:len(of)-period]) {
		period++
	}
	var parts []string
	turns := false
	for from, to := 0, 0; from < period; from = to {
		for to = from; to < period && of[to] == of[from]; {
			to++
		}
		part := of[from]
		if n := to - from; n > 1 {
			part, turns = fmt.Sprintf("%s*%d", part, n), true
		}
		parts = append(parts, part)
	}
	switch {
	case len(parts) == 1:
		return of[0]
	case !turns:
		parts[0] += "*1"
	}
	return strings.Join(parts, ",")
}

// findFlags sets the flags for the encodings and windows of the layers, and lists what torchpe lacks.
func (c *Checkpoint) findFlags() {
	parts := slices.DeleteFunc(slices.Clone(c.Layers), func(l CheckpointLayer) bool { return l.Part == "decoder" })
	for _, l := range c.Layers {
		if l.cannot != "" {
			addOnce(&c.Cannot, l.cannot)
		}
	}
	if slices.ContainsFunc(parts, func(l CheckpointLayer) bool { return l.cannot != "" && l.Chunk == 0 }) {
		return
	}
	var encodings, windows []string
	layout := ""
	for _, l := range parts {
		encodings, windows = append(encodings, l.Encoding), append(windows, fmt.Sprint(l.Window))
		if l.Pairs == "half" {
			layout = " --rope-layout half"
		}
	}
	c.Flags = "--pe '" + repeated(encodings) + "'"
	if first := parts[0]; repeated(encodings) == first.Encoding { // one for all layers
		c.Flags = "--pe " + first.scheme
		for _, name := range first.written() {
			c.Flags += " --" + name + " " + first.options[name]
		}
	}
	if text := repeated(windows); strings.Contains(text, "*") {
		c.Flags += " --window '" + text + "'"
	} else if text != "0" {
		c.Flags += " --window " + text
	}
	c.Flags += layout
}

// String describes the layers in a table, then what was taken, warnings, and the flags.
func (c *Checkpoint) String() string {
	var b strings.Builder
	sight := "causal (like --task text)"
	if !c.Causal {
		sight = "bidirectional"
	}
	fmt.Fprintf(&b, "%s: %s, %s of width %d, %s\n\n", c.Type, wording.Count(len(c.Layers), "layer"),
		wording.Count(c.Heads, "head"), c.Width, sight)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "layers from 0\tencoding\tpairs\twindow")
	var rows []string
	at := map[string][]int{}
	for i, l := range c.Layers {
		row := l.row()
		if at[row] == nil {
			rows = append(rows, row)
		}
		at[row] = append(at[row], i)
	}
	for _, row := range rows {
		fmt.Fprintf(w, "%s\t%s\n", ranges(at[row]), row)
	}
	_ = w.Flush() // into memory
	b.WriteString("\n")
	tell := func(what string, texts []string) {
		for _, text := range texts {
			fmt.Fprintf(&b, "%s: %s\n", what, text)
		}
	}
	tell("note", c.Notes)
	tell("warning", c.Warnings)
	tell("torchpe does not have", c.Cannot)
	if c.Flags != "" {
		fmt.Fprintf(&b, "the same here: %s\n", c.Flags)
	}
	return b.String()
}

// row returns the cells of a layer without its number.
func (l CheckpointLayer) row() string {
	encoding, pairs, window := l.Encoding, "-", "none"
	if len(encoding) > 100 {
		encoding = encoding[:80] + "...)"
	}
	if l.Part != "" {
		encoding = l.Part + ": " + encoding
	}
	switch l.Pairs {
	case "half":
		pairs = fmt.Sprintf("k, k+%d", l.Turned/2)
	case "interleaved":
		pairs = "2k, 2k+1"
	}
	if l.Turned > 0 && l.Turned < l.Width {
		pairs += fmt.Sprintf(" of %d in %d", l.Turned, l.Width)
	}
	if l.Window > 0 {
		window = fmt.Sprint(l.Window)
	}
	if l.Chunk > 0 {
		window = fmt.Sprintf("chunks of %d", l.Chunk)
	}
	return encoding + "\t" + pairs + "\t" + window
}

// ranges lists numbers as 0-4, 6-10; of more than four ranges, the first two and the last.
func ranges(numbers []int) string {
	var all []string
	for from, to := 0, 0; from < len(numbers); from = to {
		for to = from + 1; to < len(numbers) && numbers[to] == numbers[to-1]+1; {
			to++
		}
		text := fmt.Sprint(numbers[from])
		if to-from > 1 {
			text += fmt.Sprintf("-%d", numbers[to-1])
		}
		all = append(all, text)
	}
	if len(all) > 4 {
		all = append(all[:2], "...", all[len(all)-1])
	}
	return strings.Join(all, ", ")
}

// Layer returns a layer by its number.
func (c *Checkpoint) Layer(number int) (CheckpointLayer, error) {
	if number < 0 || number >= len(c.Layers) {
		return CheckpointLayer{}, fmt.Errorf("layer %d: there are layers 0 to %d", number, len(c.Layers)-1)
	}
	return c.Layers[number], nil
}

// Numbers returns the numbers of a layer for positions of this many tokens: cos and sin [N,2P] of a rotation
// with one column per dimension, as in transformers, or the bias [H,N,N]. It returns an error for trained
// numbers, which a configuration does not have.
func (c *Checkpoint) Numbers(layer, tokens int) ([]array.Array, error) {
	l, err := c.Layer(layer)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Weights != "":
		return nil, fmt.Errorf("layer %d: the numbers of %s are trained: they are in %s of the checkpoint", layer,
			l.scheme, l.Weights)
	case l.turn.scheme == "" && l.scheme != "alibi":
		return nil, fmt.Errorf("layer %d: %s has no table and no bias to write", layer, l.scheme)
	}
	given := Given{Outputs: []Output{{Kind: kindBias}}}
	if l.turn.scheme != "" {
		shape := array.Array{Shape: []int{tokens, l.turn.width}}
		given.Outputs = []Output{{Kind: kindCos, Array: shape}, {Kind: kindSin, Array: shape}}
	}
	check, err := c.Check(layer, given)
	if err != nil {
		return nil, err
	}
	check.Positions = pe.Line(tokens)
	all, err := check.compute(trial{Setting: check.Setting, at: check.Positions})
	for i := range all {
		all[i].Name = given.Outputs[i].Kind
	}
	return all, err
}

// Check returns the check of another implementation's arrays against a layer. If only cosines and sines are
// given, they have the rotated dimensions; other arrays have whole heads.
func (c *Checkpoint) Check(layer int, given Given) (check Check, err error) {
	l, err := c.Layer(layer)
	if err != nil {
		return check, err
	}
	_, hasPart := l.options["rope-dims"]
	table := !slices.ContainsFunc(given.Outputs, func(o Output) bool { return axes[o.Kind] != "NP" })
	switch {
	case table && l.turn.scheme == "":
		return check, fmt.Errorf("layer %d has no rotation: it has no cosines and sines", layer)
	case !table && l.turn.width < l.Width && l.turn.scheme != "" && !hasPart:
		return check, fmt.Errorf("layer %d: torchpe does not have %s: give only its cos and sin", layer, l.cannot)
	}
	whole, heads := turning{l.scheme, l.options, c.Heads * l.Width}, c.Heads
	switch {
	case table:
		whole, heads = l.turn, 1
	case l.scheme == "mrope": // equal to rope for text
		whole.scheme, whole.options = l.turn.scheme, l.turn.options
	}
	check = Check{Given: given, Setting: Setting{Fidelity: "code", Given: whole.options,
		Size: pe.Size{Tokens: 16, DModel: whole.width, Heads: heads, Layers: 1}}}
	check.Scheme, err = pe.Find(whole.scheme)
	return check, err
}
