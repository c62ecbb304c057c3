package torchpe_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// Programs in the place of torchpe, of its test programs and of Python, for rehearsals. STUB_DOCTOR
// and STUB_BENCH are what torchpe does first there, STUB_PYTHON runs the rest.
const (
	stubTorchpe = `#!/bin/sh
[ "$1" = doctor ] && { eval "$STUB_DOCTOR"; exec echo "CUDA       no"; }
eval "$STUB_BENCH"
printf '{\n  "preset": "lst", "members": 15, "batch": 128, "step_ms_median": 3, "peak_gpu_mb": 9\n}\n'
`
	stubTests = `#!/bin/sh
echo "    gpu_test.go:1: twin Linear, float32: off by at most 1e-06, relative 2e-07 (allowed 1e-05)"
`
	stubPython = `#!/bin/sh
case $1 in
scripts/peer_torch.py)
  echo a warning before the result
  case "$*" in *--compile*bf16*) compiled=', "compiled": "default", "graphs": 2, "graph_breaks": 1' ;;
  *--compile*) compiled=', "compiled": "default", "graphs": 1, "graph_breaks": 0' ;; esac
  echo "{\"preset\": \"lst\", \"members\": 1, \"batch\": 128, \"step_ms_median\": 6.5$compiled}" ;;
scripts/build_direct.py) echo "nvcc says no"; exit 1 ;;
-c) ;;
*) exec "$STUB_PYTHON" -S "$@" ;;
esac
`
)

// gpuCheck runs scripts/gpu_check.sh on these programs, and returns its exit code and files.
func gpuCheck(t *testing.T, env []string, parts ...string) (int, map[string]string) {
	t.Helper()
	python := "/usr/bin/python3" // starts in a tenth of the time that a version manager's takes
	if _, err := os.Stat(python); err != nil {
		if python, err = exec.LookPath("python3"); err != nil {
			t.Skip("needs python3")
		}
	}
	dir := t.TempDir()
	kit, out := filepath.Join(dir, "kit"), filepath.Join(dir, "out")
	sources := expect.Must(exec.Command("scripts/gpu_kit.sh", "sources").Output())
	programs := map[string]string{"kit/torchpe": stubTorchpe, "python": stubPython, "kit/sources": string(sources)}
	for _, name := range []string{"torchpe", "models", "models_pe", "train"} {
		programs["kit/"+name+".test"] = stubTests
	}
	expect.NoError(t, os.MkdirAll(kit, 0o755))
	for name, text := range programs {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	cmd := exec.Command("scripts/gpu_check.sh", parts...)
	cmd.Env = append(os.Environ(), append([]string{"DEVICE=cpu", "KIT=" + kit, "OUT=" + out,
		"PYTHON=" + filepath.Join(dir, "python"), "BUILD_SHIM=true", "STUB_PYTHON=" + python}, env...)...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	files := map[string]string{"": string(text)}
	found, _ := os.ReadDir(out)
	if len(found) > 8 {
		t.Errorf("%d files, at most 8 come back", len(found))
	}
	for _, f := range found {
		content := expect.Must(os.ReadFile(filepath.Join(out, f.Name())))
		files[f.Name()] = string(content)
	}
	return cmd.ProcessState.ExitCode(), files
}

func containsAll(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// All parts run; the summary has goals, measurements of both sides, steps and twins.
func TestGPUCheck(t *testing.T) {
	t.Parallel()
	code, files := gpuCheck(t, nil, "build", "smoke", "bench", "peers", "more", "tests")
	expect.Equal(t, "exit code", code, 0)
	// 0.2 ms a model and step of 256,000 are 51.2 s; 6.5 ms over 0.2 are 32.5.
	containsAll(t, "summary", files["summary.md"], "256,000 steps |  |  | 51.2 |", "eager, LST | 20 |  | 32.5 |",
		"| pytorch | lst, 15 members stacked, one graph, compiled, tf32 | 6.500 |",
		"| pytorch | lst, 15 members stacked, one graph, compiled, bf16, compiled anew",
		"compiled, bf16 (2 graphs with 1 breaks: not compiled as a whole) |",
		"| torchpe | lst, 15 members, bf16 | 3.000 | 0.2000 |", "| pytorch | lst, 1 model, eager | 6.500 |",
		"| torchpe | fmri, 8 members, tf32, efficient |", "| torchpe | fmri, 8 members, tf32, flash |",
		"| build by CMake | ok |", "| short tests of train | ok |", "twin Linear, float32: off by")
	if strings.Contains(files["summary.md"], "skipped") || strings.Contains(files["summary.md"], "failed") {
		t.Errorf("something was skipped or failed:\n%s", files["summary.md"])
	}
}

// Goals and predictions are those of the card.
func TestGPUSummary(t *testing.T) {
	t.Parallel()
	records := filepath.Join(t.TempDir(), "bench.jsonl")
	expect.NoError(t, os.WriteFile(records, []byte(`{"who": "torchpe", "label": "lst", "result": `+
		`{"preset": "lst", "members": 15, "batch": 128, "step_ms_median": 3}}`), 0o666))
	for gpu, want := range map[string]string{"nvidia-h200": "256,000 steps | 50 | 44 | 51.2 |",
		"nvidia-h100-80gb-hbm3": "256,000 steps | 75 | 63 | 51.2 |", "nvidia-l4": "256,000 steps |  |  | 51.2 |"} {
		out, err := exec.Command("python3", "scripts/gpu_summary.py", records, "--gpu", gpu).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("needs python3")
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		containsAll(t, gpu, string(out), want)
	}
}

// Where no build works the peers run all the same, errors are kept, and the rest is said to be
// skipped.
func TestGPUCheckWithBrokenBuild(t *testing.T) {
	t.Parallel()
	code, files := gpuCheck(t, []string{"BUILD_SHIM=false", "STUB_DOCTOR=exit 127"}, "build", "smoke", "bench",
		"peers", "tests")
	expect.Equal(t, "exit code", code, 1)
	// The third column is the seconds that it took.
	row := regexp.MustCompile(`\| build by build_direct.py \| failed \(1\) \| \d+ \| nvcc says no \|`)
	if !row.MatchString(files["summary.md"]) {
		t.Errorf("summary lacks %s:\n%s", row, files["summary.md"])
	}
	containsAll(t, "summary", files["summary.md"], "| build by CMake | failed (1) |", "| bench | skipped |",
		"| pytorch | lst, 1 model, eager | 6.500 |", "| tests | skipped |")
	containsAll(t, "errors.txt", files["errors.txt"], "== build by CMake: status 1", "nvcc says no")
	containsAll(t, "build.log", files["build.log"], "nvcc says no")
}

// At the deadline what runs is ended, and what comes after it is skipped.
func TestGPUCheckDeadline(t *testing.T) {
	t.Parallel()
	code, files := gpuCheck(t, []string{"STUB_BENCH=sleep 200", "DEADLINE=30"}, "bench", "peers")
	expect.Equal(t, "exit code", code, 1)
	containsAll(t, "summary", files["summary.md"], "| torchpe: lst, 15 members, tf32 | failed (124) |",
		"| torchpe: lst, 15 members, bf16 | skipped |",
		"| PyTorch: lst, 1 model, eager | skipped | 0 | the deadline is near |")
	containsAll(t, "errors.txt", files["errors.txt"], "ended after")
}

// The page of results/gpu has the tables that the scripts make of its files.
func TestGPUPage(t *testing.T) {
	t.Parallel()
	page := expect.Must(os.ReadFile("results/gpu/README.md"))
	for _, flags := range [][]string{{"results/gpu/bench.jsonl", "--gpu", "nvidia-h200"},
		{"--trace", "results/gpu/trace.csv"}} {
		out, err := exec.Command("python3", append([]string{"scripts/gpu_summary.py"}, flags...)...).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			t.Skip("needs python3")
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		containsAll(t, "results/gpu/README.md", string(page), string(out))
	}
}

// A step lasts from the end of Adam to the next; what is before the first is left out.
func TestGPUKernels(t *testing.T) {
	t.Parallel()
	var events []string
	at := 0
	launch := func(name string, us int) {
		events = append(events, fmt.Sprintf(`{"cat": "kernel", "name": %q, "ts": %d, "dur": %d}`, name, at, us))
		at += us + 1
	}
	for range 3 {
		launch("void torchpe::compiled::(anonymous namespace)::attention_kernel<float, 16>(torchpe::GpuHeads)", 20)
		launch("sm90_xmma_gemm_f32", 30)
		launch("void torchpe::compiled::(anonymous namespace)::adam_kernel<float>(int)", 10)
	}
	trace := filepath.Join(t.TempDir(), "steps.json")
	text := `{"traceEvents": [{"ph": "M"}, ` + strings.Join(events, ", ") + `]}`
	expect.NoError(t, os.WriteFile(trace, []byte(text), 0o666))
	out, err := exec.Command("python3", "scripts/gpu_kernels.py", trace).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("needs python3")
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	containsAll(t, "kernels", string(out), "steps,all,,3,,0.0630\nsteps,idle,,0,,0.0030\n",
		"steps,product,sm90_xmma_gemm_f32,1,30.0,0.0300\n",
		`steps,attention,"attention_kernel<float, 16>",1,20.0,0.0200`, "steps,Adam,adam_kernel<float>,1,10.0,0.0100\n")
}
