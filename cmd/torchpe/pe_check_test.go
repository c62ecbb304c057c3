package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/npy"
	"torchpe/internal/expect"
)

// checkScript rotates with pairs half a head apart, from place 1 on, and saves by the helper; JAX, where
// it is not installed, is NumPy under its name.
const checkScript = `
import sys
import numpy
try:
    import jax.numpy as jnp
except ImportError:
    jnp = numpy
from save_for_check import save
try:
    import torch
except ImportError:
    torch = None
rng = numpy.random.default_rng(0)
q = rng.normal(size=(2, 5, 8))
angles = (numpy.arange(5)[:, None] + 1) * 10000.0 ** (-numpy.arange(4) / 4)
cos, sin = numpy.cos(angles), numpy.sin(angles)
a, b = q[..., :4], q[..., 4:]
turned = numpy.concatenate((a * cos - b * sin, a * sin + b * cos), -1)
save("numpy.npz", q=q, q_out=turned)
save("jax.npz", q=jnp.asarray(q), q_out=jnp.asarray(turned))
if torch is not None:
    save("torch.npz", q=torch.tensor(q), q_out=torch.tensor(turned, requires_grad=True).to(torch.bfloat16))
`

// The number of tokens is that of the arrays, which a note says, unless the flags give it.
func TestPECheckSizes(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "pe values alibi --tokens 5 --dim 16 --heads 4 --out bias.npy", 0)
	says(t, dir, "pe check alibi --against bias.npy", 0, "2>5 tokens, as the arrays have")
	says(t, dir, "pe check alibi --against bias.npy --tokens 8", exitUsage,
		"the arrays have N = 5, and the flags say 8")
}

// Where no convention explains much none is named, and a size as expected needs no note.
func TestPECheckNoise(t *testing.T) {
	dir := t.TempDir()
	says(t, dir, "pe values 1d-fixed --tokens 16 --dim 32 --out table.npy", 0)
	table := expect.Must(npy.Read(filepath.Join(dir, "table.npy")))
	noise := table
	noise.Data = make([]float64, len(table.Data))
	rng := rand.New(rand.NewPCG(1, 0))
	for i := range noise.Data {
		noise.Data[i] = rng.NormFloat64()
	}
	var body bytes.Buffer
	expect.NoError(t, errors.Join(npy.Write(&body, noise, npy.Float64),
		os.WriteFile(filepath.Join(dir, "noise.npy"), body.Bytes(), 0o600)))
	out, notes, code := here(t, dir, "pe", "check", "1d-fixed", "--against", "noise.npy")
	if code != exitFailed || !strings.Contains(out, "table: follows no convention") ||
		strings.Contains(out, "nearest") || strings.Contains(notes, "another number is an error") {
		t.Errorf("%d, %s%s", code, out, notes)
	}
}

// TestPECheckHelper: what the helper prints saves arrays that check reads, of which the convention is
// found, in bfloat16 with a wider tolerance.
func TestPECheckHelper(t *testing.T) {
	interpreter := interpreterWith("python3", "import torch")
	if interpreter == "" {
		t.Skip("no Python with PyTorch")
	}
	dir := put(t, map[string]string{"save_for_check.py": says(t, ".", "pe check --helper", 0)})
	cmd := exec.Command(interpreter, "-c", checkScript)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, tolerance := range map[string]string{"numpy": "1e-9", "jax": "1e-9", "torch": "0.01"} {
		line := "pe check rope --against " + file + ".npz --tolerance " + tolerance
		says(t, dir, line, exitFailed, "do not follow", "1>positions from 1, half-split pairs\n")
		says(t, dir, line+" --rope-layout half --positions-from 1", 0, "q_out: follows rope: positions from 1")
	}
	var found struct{ Deviations []string }
	out := says(t, dir, "pe check rope --against numpy.npz --json", exitFailed)
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Deviations) != 2 {
		t.Errorf("%v: %s", err, out)
	}
}
