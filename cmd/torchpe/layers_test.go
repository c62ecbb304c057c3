package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// TestLayersThatDiffer: a model whose layers have encodings and windows of their own is trained,
// measured, reported, exported and imported; its tables keep the numbers of their layers.
func TestLayersThatDiffer(t *testing.T) {
	dir := t.TempDir()
	of3 := strings.Replace(smallSet(t, dir), "--layers 1", "--layers 3", 1)
	says(t, dir, "train --pe rope(base=50)@1,learn@2-3 --window 6@1,0@2-3 --epochs 1 --out run"+of3, 0)
	says(t, dir, "train --resume --out run --json", 0, `"pe": "rope(base=50)@1,learn@2-3"`)
	says(t, dir, "analyze rank run --json", 0, `"block": 1`, `"block": 2`, `!>"block": 0`)
	says(t, dir, "report run --out report", 0, "report/index.html")
	says(t, dir, "export run --out torch", 0, "rope(base=50)@1,learn@2-3")
	var config struct {
		Attention []struct{ Window int }
		Encodings []struct {
			Label  string
			Layers []int
		}
	}
	read := expect.Must(os.ReadFile(filepath.Join(dir, "torch", "config.json")))
	expect.NoError(t, json.Unmarshal(read, &config))
	expect.Equal(t, "attention", config.Attention, []struct{ Window int }{{6}, {0}, {0}})
	expect.Equal(t, "layers of learn", config.Encodings[1].Layers, []int{1, 2})
	says(t, dir, "import torch --out back", 0, "rope(base=50)@1,learn@2-3")
}
