package export

import (
	"fmt"
	"path/filepath"
	"strings"

	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// Module is an encoding in one Python file, with its numbers.
type Module struct {
	Text    string
	Numbers []safetensors.Tensor // trained parameters and fixed tables; nil for none
}

// NewModule returns the encoding of m, of which Config, Params and Encoding must be set. numbers is
// the name of the file with the numbers, which lies beside the module.
func NewModule(m *models.Model, numbers string) (Module, error) {
	parts, err := partsOf(m)
	if err != nil {
		return Module{}, err
	}
	var out Module
	out.Numbers, err = tensorsOf(m, torchpe.Float64, func(name string) string {
		if within, ok := strings.CutPrefix(plainName(name, parts), "pe."); ok {
			return within
		}
		return ""
	})
	if err != nil {
		return Module{}, err
	}
	about, err := aboutModule(m)
	if err != nil {
		return Module{}, err
	}
	settings, err := moduleSettings(m, parts)
	if err != nil {
		return Module{}, err
	}
	file := "None"
	if out.Numbers != nil {
		file = fmt.Sprintf("%q", filepath.Base(numbers))
	}
	constants := fmt.Sprintf("\n\nSETTINGS = r\"\"\"%s\"\"\"\n\n"+
		"NUMBERS = %s  # the file beside this one with trained numbers and fixed tables", settings, file)
	out.Text = program(about, constants, parts, "standalone")
	return out, nil
}

func aboutModule(m *models.Model) (string, error) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	c, a := m.Config, m.Encoding.Attention(0)
	parts, err := c.Parts()
	if err != nil {
		return "", err
	}
	var sites pe.Site
	for layer := range c.Layers {
		sites |= m.Encoding.Sites(layer)
	}
	for i, p := range parts {
		if i > 0 {
			line("")
		}
		line("%s", schemeText(p, c.Layers))
	}
	line("\nFor %d tokens, width %d, heads: %d, layers: %d; it acts on: %s. Attention is softmax(logits / %g) v with "+
		"logits = %.6g q k^T%s. Written by torchpe, which computes the same.", c.Positions.Tokens(), c.DModel, c.Heads,
		c.Layers, sites, a.Temperature, a.LogitScale(c.DModel/c.Heads),
		map[bool]string{true: " under a causal mask", false: ""}[a.Causal])
	line("\n    pe = build()")
	line("    x = pe.embed(layer, x)  # [B, N, D], the input of a layer, from 0")
	line("    q, k, logits, out = attention(pe, layer, q, k, v)  # q, k, v and out [B, H, N, Dh]")
	return strings.TrimSpace(wrapped(b.String())), nil
}

// moduleSettings returns the settings of config.json that an encoding needs.
func moduleSettings(m *models.Model, parts []part) (string, error) {
	c := m.Config
	attention, err := attentions(m)
	if err != nil {
		return "", err
	}
	return settingsText([]setting{
		{"layers", c.Layers}, {"heads", c.Heads}, {"d_model", c.DModel}, {"pe_dropout", 0},
		{"attention", attention}, {"encodings", parts}, {"positions", positionsOf(c.Positions, parts)},
	})
}
