package export

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// vectorCase holds inputs and the outputs that a module must have.
type vectorCase struct {
	Name                    string
	Config                  map[string]any
	Params, Inputs, Outputs map[string]petest.Array
}

func (c vectorCase) text(key string) string { return fmt.Sprint(c.Config[key]) }

func (c vectorCase) int(key string) int {
	v, _ := c.Config[key].(float64)
	return int(v)
}

// byVectors says how schemes run the cases of a file: options, positions, parameters, and which of the
// module's arrays are compared with which output.
var byVectors = []struct {
	file, scheme string
	cases        int // that it has an account of, the first of the file
	options      func(c vectorCase) pe.Options
	params       map[string]string
	outputs      map[string]string
}{
	{"rope_half_split", "rope", 4, func(c vectorCase) pe.Options {
		return pe.Options{"rope-layout": "half", "rope-dims": c.text("rotary_dims")}
	}, nil, turnedOutputs},
	{"rope_llama3", "rope-llama3", 1, func(c vectorCase) pe.Options {
		return pe.Options{"rope-layout": "half", "rope-base": c.text("base"), "rope-scale": c.text("factor"),
			"rope-trained-tokens": c.text("L_orig")}
	}, nil, turnedOutputs},
	{"xpos", "xpos", 2, func(c vectorCase) pe.Options {
		return pe.Options{"xpos-scale-base": c.text("scale_base"), "xpos-gamma": c.text("gamma")}
	}, nil, turnedOutputs},
	{"rope_position_interpolation", "rope-pi", 2, func(c vectorCase) pe.Options {
		return pe.Options{"rope-layout": "half", "rope-scale": c.text("scale")}
	}, nil, turnedOutputs},
	{"rope_ntk_aware", "rope-ntk", 2, func(c vectorCase) pe.Options {
		return pe.Options{"rope-layout": "half", "rope-scale": c.text("alpha")}
	}, nil, turnedOutputs},
	{"rope_dinov3", "rope-dinov3", 1, nil, nil, turnedOutputs},
	{"alibi", "alibi", 4, nil, nil, map[string]string{"logits": "bias"}},
	{"sandwich", "sandwich", 2, func(c vectorCase) pe.Options {
		return pe.Options{"sandwich-width": c.text("d_bar")}
	}, nil, map[string]string{"logits": "bias"}},
	{"t5_bias", "t5", 4, func(c vectorCase) pe.Options {
		return pe.Options{"t5-buckets": c.text("num_buckets"), "t5-max-distance": c.text("max_distance"),
			"t5-direction": map[bool]string{true: "bidirectional", false: "causal"}[c.Config["bidirectional"] == true]}
	}, map[string]string{"pe.table": "table"}, map[string]string{"logits": "bias"}},
	{"swin_bias_2d", "swin", 2, nil, map[string]string{"pe.table": "relative_position_bias_table"},
		map[string]string{"logits": "bias"}},
	{"cape_1d", "cape", 1, func(vectorCase) pe.Options { return pe.Options{"cape-centred": "false"} }, nil,
		map[string]string{"x_out": "output"}},
	{"sinusoidal_1d", "1d-fixed", 1, nil, nil, map[string]string{"x_out": "y"}},
	{"sinusoidal_2d_variants", "2d-fixed", 2, func(c vectorCase) pe.Options {
		return pe.Options{"positions-from": "1", "grid-order": "rows-first", "grid-normalize": c.text("normalize")}
	}, nil, map[string]string{"x_out": "table"}},
}

var turnedOutputs = map[string]string{"q_out": "q_rot", "k_out": "k_rot"}

// byHeads returns [N,H,Dh] as [1,H,N,Dh].
func byHeads(a petest.Array) petest.Array {
	n, h, d := a.Shape[0], a.Shape[1], a.Shape[2]
	out := petest.Array{Shape: []int{1, h, n, d}}
	for head := range h {
		for token := range n {
			at := (token*h + head) * d
			out.Values = append(out.Values, a.Values[at:at+d]...)
		}
	}
	return out
}

// TestModulesVectors: the modules give what other people's code gave.
func TestModulesVectors(t *testing.T) {
	python(t)
	dir, number := t.TempDir(), 0
	for _, v := range byVectors {
		text, err := petest.VectorFile(v.file)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Cases []vectorCase }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		for i, c := range file.Cases[:v.cases] {
			options := pe.Options{"fixed-pe-dropout": "0"}
			if v.options != nil {
				for name, value := range v.options(c) {
					options[name] = value
				}
			}
			one := filepath.Join(dir, fmt.Sprintf("%s %d", v.file, i))
			if err := c.write(one, v.scheme, options, v.params, v.outputs); err != nil {
				t.Fatalf("%s, %s: %v", v.file, c.Name, err)
			}
			number++
		}
	}
	compareModules(t, dir, number, 1e-9)
}

// write writes the module of a scheme with the inputs and outputs of the case.
func (c vectorCase) write(dir, name string, options pe.Options, params, outputs map[string]string) error {
	at, heads, width := pe.Line(c.int("n")), max(1, c.int("heads")), 8
	if rows := max(c.int("H"), c.int("Wh")); rows > 0 {
		at = pe.Grid(rows, max(c.int("W"), c.int("Ww")))
	}
	if d := c.int("d_head"); d > 0 {
		width = d
	}
	if d := c.int("d"); d > 0 {
		width = d
	}
	set := map[string][]float64{}
	for to, from := range params {
		set[to] = c.Params[from].Values
	}
	if err := (built{name, options, at, heads, heads * width, 1, set}).write(dir); err != nil {
		return err
	}
	n := at.Tokens()
	arrays := map[string]petest.Array{
		"layer": petest.Scalar(0), "weight": petest.Zeros(3*heads*width, heads*width),
		"x": petest.Zeros(1, n, heads*width),
		"q": petest.Zeros(1, heads, n, width), "k": petest.Zeros(1, heads, n, width),
		"v": petest.Zeros(1, heads, n, width),
	}
	for from, a := range c.Inputs {
		if arrays[from] = a; from == "q" || from == "k" {
			arrays[from] = byHeads(a)
		}
	}
	for to, from := range outputs {
		a := c.Outputs[from]
		switch {
		case to == "q_out" || to == "k_out":
			a = byHeads(a)
		case len(a.Shape) < 4 && to != "x_out" || len(a.Shape) < 3:
			a = a.Reshaped(append([]int{1}, a.Shape...)...)
		}
		arrays[to] = a
	}
	var all []safetensors.Tensor
	for name, a := range arrays {
		x, err := safetensors.New(name, a.Shape, a.Values)
		if err != nil {
			return err
		}
		all = append(all, x)
	}
	return safetensors.Write(filepath.Join(dir, "case.safetensors"), all, nil)
}
