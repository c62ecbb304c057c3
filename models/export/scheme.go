package export

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Libraries lists what the encodings are exported to.
func Libraries() []string { return []string{"pytorch", "numpy", "jax"} }

// Module is an encoding in one Python file, with the numbers that it does not compute.
type Module struct {
	Text    string
	Numbers []safetensors.Tensor // trained numbers, and tables that were drawn or read; nil for none
}

// computes matches what names the schemes whose fixed tables a module computes.
var computes = regexp.MustCompile(`(?m)^@computes\((.+)\)$`)

// NewModule returns the encoding e of m, of which Config, Params and Encoding are set, for one of
// Libraries. numbers is the name of the file with the numbers, which lies beside the module.
func NewModule(m *models.Model, library, numbers string) (Module, error) {
	if !slices.Contains(Libraries(), library) {
		return Module{}, fmt.Errorf("%q is unknown; there are %s", library, strings.Join(Libraries(), ", "))
	}
	if err := Check(m.Config.PE); err != nil {
		return Module{}, err
	}
	parts, err := partsOf(m)
	if err != nil {
		return Module{}, err
	}
	var out Module
	if out.Numbers, err = numbersOf(m, parts); err != nil {
		return Module{}, err
	}
	about, err := aboutModule(m, library)
	if err != nil {
		return Module{}, err
	}
	config, err := configOfModule(m, parts)
	if err != nil {
		return Module{}, err
	}
	file := "None"
	if out.Numbers != nil {
		file = fmt.Sprintf("%q", filepath.Base(numbers))
	}
	config += "\n\nNUMBERS = " + file + "  # the file beside this one with trained and drawn numbers"
	out.Text, err = moduleText(about, config, library, parts)
	return out, err
}

// numbersOf returns the parameters and the tables that no module computes, by their Python names.
func numbersOf(m *models.Model, parts []part) (all []safetensors.Tensor, err error) {
	of, names := modulesBy(computes), strings.Split(m.Config.PE, "+")
	for _, p := range m.Params.All() {
		i, attribute, ok := ofEncoding(p.Name, names)
		if !ok || !p.Trainable && of[parts[i].Scheme] != "" {
			continue
		}
		values, err := m.Params.Values(p.Name)
		if err != nil {
			return nil, err
		}
		if len(parts) > 1 {
			attribute = parts[i].Scheme + "." + attribute
		}
		t, err := tensor(attribute, p.Shape[1:], values, torchpe.Float64)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// aboutModule returns the docstring.
func aboutModule(m *models.Model, library string) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	c, a := m.Config, m.Encoding.Attention()
	for i, name := range strings.Split(c.PE, "+") {
		scheme, err := pe.Find(name)
		if err != nil {
			return "", err
		}
		if i > 0 {
			line("")
		}
		line("%s", schemeText(scheme, c.PEOptions))
	}
	line("\nFor %d tokens, width %d, heads: %d, layers: %d; it acts on: %s. Attention is softmax(logits / %g) v with "+
		"logits = %.6g q k^T%s. Written by torchpe, which computes the same.", c.Positions.Tokens(), c.DModel, c.Heads,
		c.Layers, m.Encoding.Sites(), a.Temperature, a.LogitScale(c.DModel/c.Heads),
		map[bool]string{true: " under a causal mask", false: ""}[a.Causal])
	line("\n    pe = build()")
	if library == "pytorch" {
		line("    x = pe.embed(layer, x)  # [B, N, D], the input of a layer, from 0")
	} else {
		line("    x = embed(pe, layer, x)  # [B, N, D], the input of a layer, from 0")
	}
	line("    q, k, logits, out = attention(pe, layer, q, k, v)  # q, k, v and out [B, H, N, Dh]")
	if library != "pytorch" {
		line("\nThe encoding's code is that of the PyTorch module: the classes Tensor, torch, F and nn are what "+
			"it uses of PyTorch, over %s arrays. It is as in evaluation: nothing is dropped or moved at random.",
			map[string]string{"numpy": "NumPy", "jax": "JAX"}[library])
	}
	if library == "jax" {
		line("Gradients are those of a function that calls build(given) with the trained numbers, a dictionary " +
			"by name. Take jax.config.update(\"jax_enable_x64\", True) for float64.")
	}
	return strings.TrimSpace(wrapped(b.String())), nil
}

// breaks match where JSON with line breaks has them, with the punctuation around.
var breaks = regexp.MustCompile(`[\[{,]?\n *[\]}]?`)

// configOfModule returns the assignment of CONFIG.
func configOfModule(m *models.Model, parts []part) (string, error) {
	c, a := m.Config, m.Encoding.Attention()
	python := strings.NewReplacer("true", "True", "false", "False")
	var lines []string
	for _, s := range []struct {
		key   string
		value any
	}{
		{"layers", c.Layers}, {"heads", c.Heads}, {"d_model", c.DModel}, {"pe_dropout", 0},
		{"attention", map[string]any{"causal": a.Causal, "temperature": a.Temperature,
			"scale": a.LogitScale(c.DModel / c.Heads)}},
		{"encodings", parts}, {"positions", positionsOf(c.Positions, parts)},
	} {
		text, err := json.MarshalIndent(s.value, "", " ")
		if err != nil {
			return "", err
		}
		value := breaks.ReplaceAllStringFunc(string(text), func(at string) string {
			if at = strings.TrimSpace(at); at == "," {
				at = ", "
			}
			return at
		})
		if s.key == "attention" { // the one with truth values; options are texts
			value = python.Replace(value)
		}
		lines = append(lines, wrapped(fmt.Sprintf("    %q: %s,", s.key, value)))
	}
	return "CONFIG = {\n" + strings.Join(lines, "\n") + "\n}", nil
}

// moduleText joins the file.
func moduleText(about, config, library string, parts []part) (string, error) {
	a := assembly{done: map[string]bool{"tensors": true}}
	of, tables := modules(), modulesBy(computes)
	names := []string{"encoding"}
	for _, p := range parts {
		names = append(names, of[p.Scheme])
	}
	if len(parts) > 1 {
		names = append(names, "stack")
	}
	names = append(names, "fixed")
	for _, p := range parts {
		if name := tables[p.Scheme]; name != "" {
			names = append(names, name)
		}
	}
	last := "standalone_array"
	if library == "pytorch" {
		last = "standalone_torch"
	}
	for _, name := range append(names, "standalone", last) {
		if err := a.add(name); err != nil {
			return "", err
		}
	}
	if library != "pytorch" {
		a.overArrays(library)
	}
	body := reached(strings.Join(a.bodies, "\n\n\n"), parts)
	a.imports = slices.DeleteFunc(a.imports, func(line string) bool {
		words := strings.Fields(line)
		return !regexp.MustCompile(`\b` + regexp.QuoteMeta(words[len(words)-1]) + `\b`).MatchString(body)
	})
	about = strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(about)
	return fmt.Sprintf("\"\"\"%s\n\"\"\"\n\n%s\n\n%s\n\n\n%s\n", about, strings.TrimSpace(a.importLines()), config,
		body), nil
}

// definition matches what a block of the file defines, behind its decorator.
var definition = regexp.MustCompile(`(?m)^(?:(?:class|def) )?(\w+)`)

// reached returns the blocks of a text that the encodings parts use, or somebody who calls the module.
func reached(text string, parts []part) string {
	blocks, kept, use := strings.Split(text, "\n\n\n"), map[int]bool{}, "build attention embed setattr"
	for more := true; more; {
		more = false
		for i, block := range blocks {
			if kept[i] {
				continue
			}
			decorator, rest, decorated := "", block, strings.HasPrefix(block, "@")
			if decorated {
				decorator, rest, _ = strings.Cut(block, "\n")
			}
			name := definition.FindStringSubmatch(rest)[1]
			ours := decorated && slices.ContainsFunc(parts, func(p part) bool {
				return strings.Contains(decorator, fmt.Sprintf("%q", p.Scheme))
			}) || strings.HasPrefix(decorator, `@implements("+")`)
			if ours || name == "for" || regexp.MustCompile(`\b`+name+`\b`).MatchString(use) {
				kept[i], more = true, true
				use += "\n" + block
			}
		}
	}
	var all []string
	for i, block := range blocks {
		if kept[i] {
			all = append(all, block)
		}
	}
	return strings.Join(all, "\n\n\n")
}

// overArrays puts what the bodies use of PyTorch, over arrays, in place of its import.
func (a *assembly) overArrays(library string) {
	text, _ := module("tensors")
	a.imports = slices.DeleteFunc(a.imports, func(line string) bool { return strings.Contains(line, "torch") })
	for _, m := range importLine.FindAllString(text, -1) {
		if line := strings.TrimSpace(m); !slices.Contains(a.imports, line) {
			a.imports = append(a.imports, line)
		}
	}
	body := used(importLine.ReplaceAllString(text, ""), strings.Join(a.bodies, "\n"))
	if library == "jax" {
		a.imports[slices.Index(a.imports, "import numpy as np")] = "import jax.numpy as np"
		if old := "numpy.vectorize(math.erf)"; strings.Contains(body, old) {
			body = strings.ReplaceAll(body, old, "jax.scipy.special.erf")
			a.imports = append(a.imports, "import jax.scipy.special")
		}
	}
	a.bodies = append([]string{strings.TrimSpace(body)}, a.bodies...)
}

// member matches the first line of what a class holds, by its name.
var member = regexp.MustCompile(`^    (?:def |class )?(\w+)\b`)

// used returns the classes of a text with those members that others use, or each other.
func used(text, others string) string {
	type block struct {
		name, text string
		kept       bool
	}
	var blocks []*block
	for _, paragraph := range strings.Split(text, "\n\n") {
		m := member.FindStringSubmatch(paragraph)
		if m == nil && len(blocks) > 0 && strings.HasPrefix(paragraph, "        ") { // of a class in a class
			blocks[len(blocks)-1].text += "\n\n" + paragraph
			continue
		}
		b := &block{text: paragraph, kept: m == nil || strings.HasPrefix(m[1], "_")}
		if m != nil {
			b.name = m[1]
		}
		blocks = append(blocks, b)
	}
	for more := true; more; {
		more = false
		for _, b := range blocks {
			if b.kept && b.text != "" && !strings.Contains(others, b.text) {
				others += "\n" + b.text
			}
		}
		for _, b := range blocks {
			if !b.kept && regexp.MustCompile(`\.`+b.name+`\b`).MatchString(others) {
				b.kept, more = true, true
			}
		}
	}
	var kept []string
	for _, b := range blocks {
		if b.kept {
			kept = append(kept, b.text)
		}
	}
	return strings.Join(kept, "\n\n")
}
