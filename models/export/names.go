package export

import (
	"fmt"
	"regexp"
	"strings"
)

// plainParts maps names of a layer's parameters to names of its modules in model.py.
var plainParts = map[string]string{
	"attn.in": "qkv", "attn.out": "out", "norm1": "norm1", "norm2": "norm2",
	"mlp.in": "mlp_in", "mlp.out": "mlp_out",
}

var ofBlock = regexp.MustCompile(`^block(\d+)\.(.+)\.(weight|bias)$`)

// plainName returns the PyTorch state-dict name of a parameter in a model with the encodings parts:
// "blocks.0.qkv.weight" for "block0.attn.in.weight".
func plainName(name string, parts []part) string {
	if m := ofBlock.FindStringSubmatch(name); m != nil {
		return fmt.Sprintf("blocks.%s.%s.%s", m[1], plainParts[m[2]], m[3])
	}
	i, attribute, ok := ofEncoding(name, parts)
	switch {
	case ok && parts[i].Label != "":
		return "pe." + parts[i].Label + "." + attribute
	case ok:
		return "pe." + attribute
	case name == "embed.mask":
		return "mask_token"
	}
	return name
}

// ofEncoding returns the index in parts of the encoding that has a parameter, and the parameter's name as a
// Python attribute: "out_weight" for "pe.out.weight"; in, a Python keyword, gets an underscore.
func ofEncoding(name string, parts []part) (at int, attribute string, ok bool) {
	rest, ok := strings.CutPrefix(name, "pe.")
	if !ok {
		return 0, "", false
	}
	for i, p := range parts {
		if within, ok := strings.CutPrefix(rest, p.Label+"."); ok && p.Label != "" {
			at, rest = i, within
			break
		}
	}
	attribute = strings.NewReplacer(".", "_", "-", "_").Replace(rest)
	if attribute == "in" {
		attribute = "in_"
	}
	return at, attribute, true
}
