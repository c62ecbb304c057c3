package main

import (
	"path/filepath"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/internal/expect"
)

// olmo has two rotations: YaRN in each fourth layer, none in those with a window.
const olmo = `{"model_type": "olmo3", "num_hidden_layers": 8, "hidden_size": 256, "num_attention_heads": 4,
	"max_position_embeddings": 65536, "rope_theta": 500000, "sliding_window": 4096, "rope_scaling": {"rope_type":
	"yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "attention_factor": 1.2079441541679836}}`

// The layers of a configuration are listed, the numbers of one are written, and arrays are compared with a
// layer: those of one layer do not follow another.
func TestPECheckModel(t *testing.T) {
	dir := put(t, map[string]string{"config.json": olmo})
	says(t, dir, "pe check --model config.json", 0, "0-2, 4-6       rope(base=500000) ",
		"layer_types is missing", "the same here: --pe 'rope(base=500000)*3,rope-yarn(")
	says(t, dir, "pe check --model .", 0, "0-2, 4-6       rope(base=500000) ")
	var model struct {
		Type   string `json:"model_type"`
		Layers []struct{ Window int }
		Flags  string
	}
	saysJSON(t, dir, "pe check --model config.json", &model)
	if len(model.Layers) != 8 || model.Layers[0].Window != 4096 || model.Flags == "" {
		t.Errorf("%+v", model)
	}
	says(t, dir, "pe check --model config.json --layer 3 --tokens 32 --out yarn.npz", 0, "cos [32 64], sin [32 64]")
	cos := expect.Must(npy.ReadMember(filepath.Join(dir, "yarn.npz"), "cos"))
	expect.Near(t, "cos begins with", cos.Data[0], 1.2079441541679836, 1e-12)
	says(t, dir, "pe check --model config.json --layer 7 --against yarn.npz", 0, "cos, sin: follow rope-yarn")
	says(t, dir, "pe check --model config.json --layer 0 --against yarn.npz", exitFailed,
		"the arrays do not follow that layer", "1>layer 0, rope(base=500000)\n")
}

// What has no meaning beside a configuration, and layers without such numbers, are errors of usage.
func TestPECheckModelRefuses(t *testing.T) {
	dir := put(t, map[string]string{"config.json": olmo, "wrong.json": "{", "bloom.json": `{"model_type": "bloom",
		"n_layer": 2, "hidden_size": 64, "n_head": 4}`, "gpt2.json": `{"model_type": "gpt2",
		"n_layer": 2, "n_embd": 8, "n_head": 2, "n_positions": 16}`, "smollm3.json": `{"model_type": "smollm3",
		"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 4}`})
	says(t, dir, "pe check --model smollm3.json --layer 0 --out cos.npz", 0)
	says(t, dir, "pe values alibi --dim 8 --heads 2 --tokens 4 --out bias.npy", 0)
	for line, want := range map[string]string{
		"rope --model config.json":                                "--model chooses the schemes",
		"--model config.json --rope-base 3":                       "--rope-base: --model sets sizes and options",
		"--model config.json --layer 1":                           "--layer and --tokens are for --out and --against",
		"--model config.json --out a.npz --against cos.npz":       "give one",
		"--model config.json --layer 8 --out a.npz":               "layer 8: there are layers 0 to 7",
		"--model config.json --out a.txt":                         "want a file that ends in .npz",
		"--model wrong.json":                                      "wrong.json: unexpected end",
		"--model gpt2.json --out a.npz":                           "transformer.wpe.weight of the checkpoint",
		"--model smollm3.json --layer 3 --out a.npz":              "nope has no table",
		"--model smollm3.json --layer 3 --against cos.npz":        "layer 3 has no rotation",
		"--model config.json --layer 9 --against cos.npz":         "layer 9: there are layers",
		"--model config.json --layer 0 --against cos.npz":         "heads of width 16, and those of layer 0 have 64",
		"--model bloom.json --layer 0 --against bias.npy":         "the arrays have 2 heads, and layer 0 has 4",
		"--out a.npz --against cos.npz":                           "--against and --out exclude each other",
		"--model config.json --against cos.npz --tolerance -1":    "want a number in [0, 1)",
		"--model config.json --against cos.npz --what nothing":    "want one of",
		"--model config.json --against cos.npz --params none.npz": "--params",
	} {
		says(t, dir, "pe check "+line, exitUsage, want)
	}
}
