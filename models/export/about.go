package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/models/arch"
	"torchpe/models/pe"
)

// about returns the docstring of model.py.
func about(m *models.Model, r Run) (string, error) {
	c := m.Config
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	what, call := puzzleText(c)
	switch taskOf(c) {
	case "masked":
		what, call = maskedText(c)
	case "sequences":
		what, call = sequenceText(c)
	}
	line("%s with the positional encoding %s, written by torchpe.", call.title, c.PE)
	if r.Directory != "" {
		line("\nMember %d of the run %s, after %d steps.", r.Member, r.Directory, r.Step)
		if r.DivergedAtStep > 0 {
			line("It diverged at step %d; these are the weights of its last checkpoint.", r.DivergedAtStep)
		}
	}
	line("\n    from model import load\n    m = load()  # in evaluation mode; m.train() to train")
	line("    y = m(%s)\n    loss = m.loss(%s)", call.forward, call.loss)
	line("\n%s", what)
	line("\nEach of %d layers is x <- norm1(x + attention(x)), x <- norm2(x + MLP(x)), with layer norm "+
		"after\nthe sum and the exact GELU (with erf) after both linear maps of the MLP. There is no "+
		"norm before\nthe head. Dropout (%g) acts on each layer's input and on attention weights, in "+
		"training.", c.Layers, c.Dropout)
	parts, err := c.Parts()
	if err != nil {
		return "", err
	}
	for _, p := range parts {
		line("\n%s", schemeText(p, c.Layers))
	}
	line("\nmodel.safetensors is the state dict. config.json has the names and shapes of the encoding's tensors, " +
		"\nall settings that this file reads, and the run under \"run\": " +
		"`torchpe import` converts it to a run\nagain. python3 model.py compares the output with torchpe's.")
	return strings.TrimSpace(b.String()), nil
}

// calls describes how a model is called.
type calls struct{ title, forward, loss string }

func puzzleText(c models.Config) (string, calls) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	classes, probe := c.Classes, c.Symbols-1
	line("symbols: int64 [B, %d], the grid row by row: 0 is a blank, 1 to %d are symbols, %d is the "+
		"probe,\nwhose symbol is to be predicted.", c.Positions.Tokens(), classes, probe)
	line("y: logits [B, %d]. Class c stands for symbol c + 1: the prediction is y.argmax(-1) + 1, and "+
		"answers\n(which loss takes) count from 1.", classes)
	if c.TokenInput == arch.OneHot {
		line("Tokens are one-hot vectors of the symbols 1 to %d, mapped linearly; a blank has no "+
			"channel\nand is all zeros.", probe)
	} else {
		line("Tokens are rows of a table of all %d symbols, including the blank.", c.Symbols)
	}
	if c.ReadOut == arch.LastToken {
		line("The answer is read from the last token, regardless of the probe.")
	} else {
		line("The answer is read from the probe token.")
	}
	return strings.TrimSpace(b.String()),
		calls{"A transformer for Latin-square puzzles", "symbols", "symbols, answers"}
}

func maskedText(c models.Config) (string, calls) {
	mask := "all zeros"
	if c.MaskToken == arch.LearnedMask {
		mask = "a learned vector, mask_token"
	}
	return fmt.Sprintf("values: numbers [B, %d], z-scored as in the run; masked: the same shape, true or "+
			"1 where a token is\nmasked. y: the predicted numbers of all tokens; loss is the mean squared "+
			"error over masked ones.\nA token is value * w + b; a masked one is %s.",
			c.Positions.Tokens(), mask), calls{"A transformer for masked prediction", "values, masked",
			"values, masked"}
}

func sequenceText(c models.Config) (string, calls) {
	n := c.Positions.Tokens()
	return fmt.Sprintf("symbols: int64 [B, %d], rows of a table of %d: the longest training input with places "+
			"for the output,\nor a window of a text. y: logits [B, %d, %d] of all tokens; loss takes the classes "+
			"[B, M] of the last M.", n, c.Symbols, n, c.Classes),
		calls{"A transformer for sequences", "symbols", "symbols, targets"}
}

// schemeText describes a part of an encoding with its options, and its layers if it does not act in all.
func schemeText(p pe.Part, layers int) string {
	var b strings.Builder
	about := p.Scheme.About()
	where := ""
	if len(p.Layers) < layers {
		where = " in layers"
		for _, layer := range p.Layers {
			where += fmt.Sprintf(" %d", layer+1)
		}
		where += fmt.Sprintf(" of %d", layers)
	}
	fmt.Fprintf(&b, "%s%s: %s.\n%s (%s)\n", p.Scheme.Name, where, about.Summary, about.Title, about.Reference)
	for _, line := range strings.Split(about.Formula, "\n") {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		fmt.Fprintf(&b, "    %s: %s\n", name, p.Options[name])
	}
	if about.Differ != "" {
		fmt.Fprintf(&b, "Implementations differ: %s.\n", about.Differ)
	}
	return strings.TrimSpace(wrapped(b.String()))
}

// wrapped breaks lines at 100 columns.
func wrapped(text string) string {
	const width = 100
	var out []string
	for _, line := range strings.Split(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for len(line) > width {
			at := strings.LastIndex(line[:width], " ")
			if at <= len(indent) {
				break
			}
			out, line = append(out, strings.TrimRight(line[:at], " ")), indent+line[at+1:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
