package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// docLine is a command in a fenced block of a page.
type docLine struct {
	at      string // page:line
	command string // as the page has it, continued lines and here documents included
}

// startsCommand matches the first line of a command that is run.
var startsCommand = regexp.MustCompile(`^(\$ )?((bin/)?torchpe |printf |` +
	`(python3|Rscript) - <<'(PY|R)'$|python3 \S+\.py$)`)

// tableCommand matches the command in the second cell of a row of a table.
var tableCommand = regexp.MustCompile("^\\|[^|]*\\| `(torchpe [^`|]+)` \\|")

// docLines returns the commands of a page in order: of fenced blocks and of tables.
func docLines(t *testing.T, page string) (all []docLine) {
	t.Helper()
	body := expect.Must(os.ReadFile(filepath.Join("../..", page)))
	fenced, lines := false, strings.Split(string(body), "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		at := fmt.Sprintf("%s:%d", page, i+1)
		if row := tableCommand.FindStringSubmatch(line); row != nil {
			all = append(all, docLine{at, row[1]})
		}
		if !fenced || !startsCommand.MatchString(line) {
			continue
		}
		for strings.HasSuffix(line, "\\") {
			i++
			line += "\n" + lines[i]
		}
		if _, end, ok := strings.Cut(line, "<<'"); ok {
			for end = strings.TrimSuffix(end, "'"); lines[i] != end; {
				i++
				line += "\n" + lines[i]
			}
		}
		all = append(all, docLine{at, strings.TrimPrefix(line, "$ ")})
	}
	return all
}

// notRun are parts of commands that are not run, with the reason. Each must be in some page.
var notRun = []struct{ part, reason string }{
	{"--device cuda:0", "needs a GPU"},
	{"sweep table1", "needs a GPU"},
	{"--launcher slurm", "needs a cluster"},
	{"data prices.csv", "the reader's own data: docs/own-data.md makes such a table"},
	{"--template 100206", "published data: a parcellated series of HCP"},
	{"LabelKey.txt", "published data: HCP's, and the Cole-Anticevic partition"},
	{"--model config.json", "the reader's own checkpoint: docs/porting.md writes two"},
	{"encoder.layer.0", "published data: the weights of BERT"},
	{"sweep quick --out reproduce", "40 minutes on two cores"},
	{"gaussian", "the reader writes this scheme on that page"},
	{"--out RUN", "RUN stands for a run that was stopped"},
}

// needs are parts of commands that are run where an interpreter has a package.
var needs = []struct{ part, interpreter, load string }{
	{"twin/model.py", "python3", "import torch"},
	{"import torch\n", "python3", "import torch"},
	{"tuned", "python3", "import torch"},
	{"mine.npz", "python3", "import torch"},
	{"table.npz", "python3", "import torch"},
	{"module.npz", "python3", "import torch"},
	{"port.npz", "python3", "import numpy"},
	{"import pandas\n", "python3", "import pandas"},
	{"import numpy\n", "python3", "import numpy"},
	{"library(jsonlite)", "Rscript", "library(jsonlite)"},
}

// interpreterWith returns an interpreter that loads a package, "" where there is none.
var interpreterWith = func() func(name, load string) string {
	known := map[string]string{}
	return func(name, load string) string {
		path, ok := known[load]
		if ok {
			return path
		}
		paths, flag := []string{name}, "-e"
		if name == "python3" {
			paths, flag = []string{os.Getenv("TORCHPE_PYTHON"), "/usr/bin/python3", name}, "-c"
		}
		for _, p := range paths {
			if p != "" && exec.Command(p, flag, load).Run() == nil {
				path = p
				break
			}
		}
		known[load] = path
		return path
	}
}()

// fails are the exit codes of commands that are there to show an error, by what they begin with.
var fails = []struct {
	begins string
	code   int
}{
	{"torchpe analyze rank --table model.safetensors:embeddings.position_embedding.weight", 2},
	{"torchpe train --preset quick --pe learn --eval-tokens 25,36", 2},
	{"torchpe pe check rope --against mine.npz", 1},
	{"torchpe pe check rope --against mine.npz --rope-layout half", 0},
	{"torchpe pe check 2d-fixed", 1},
	{"torchpe pe check --model gpt-oss.json --layer 1 --against port.npz", 1},
}

const smallTraining = "--d-model 16 --layers 1 --batch 32 --threads 1 --limit-steps 4"

// smaller are flags that make a command short, by what it begins with. Others run as they are.
var smaller = []struct{ begins, flags string }{
	{"torchpe train --resume", ""},
	{"torchpe train --task fmri --data", smallTraining},
	{"torchpe train --task masked", smallTraining + " --test-levels 0.5"},
	{"torchpe train --task fmri", smallTraining + " --surrogate subjects=3,frames=60"},
	{"torchpe train --preset quick --pe learn --sigma 0.2 --seeds", // docs/machine.md averages over blocks
		strings.Replace(smallTraining, "--layers 1", "--layers 2", 1)},
	{"torchpe train --preset quick --pe 'rope", strings.Replace(smallTraining, "--layers 1", "--layers 4", 1)},
	{"torchpe train", smallTraining},
	{"torchpe sweep paper", "--no-calibrate"},
	{"torchpe sweep", "--dry-run --no-calibrate"},
	{"torchpe advise", "--dry-run --d-model 16 --layers 1 --batch 32 --threads 1"},
	{"torchpe data hcp generate", "--surrogate subjects=4,frames=60"},
}

// shortened returns a command with the flags that make it short, without its comment.
func shortened(command string) string {
	command = strings.TrimPrefix(command, "bin/")
	if !strings.Contains(command, "\n") {
		if comment := regexp.MustCompile(`\s+#.*$`).FindString(command); comment != "" {
			command = strings.TrimSuffix(command, comment)
		}
	}
	for _, s := range smaller {
		if !strings.HasPrefix(command, s.begins) {
			continue
		}
		for _, flag := range regexp.MustCompile(` --\S+ [^-\s]\S*`).FindAllString(" "+s.flags, -1) {
			name, _, _ := strings.Cut(flag[1:], " ")
			command = regexp.MustCompile(` `+name+`[ =]\S+`).ReplaceAllString(command, "")
		}
		return command + " " + s.flags
	}
	return command
}

// The commands of README.md and docs/*.md run in the order of the pages, in one folder; a report of the
// folder "runs" is made once.
func TestDocsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	pages := expect.Must(filepath.Glob("../../docs/*.md"))
	slices.Sort(pages)
	lines := docLines(t, "README.md")
	for _, page := range pages {
		lines = append(lines, docLines(t, "docs/"+filepath.Base(page))...)
	}
	if len(lines) < 80 {
		t.Errorf("only %d commands were found", len(lines))
	}
	dir, bin := t.TempDir(), t.TempDir()
	// A user's own text and arrays.
	copyFile(t, "../../README.md", filepath.Join(dir, "book.txt"))
	for _, name := range []string{"attention.npz", "attention.safetensors", "model.safetensors"} {
		copyFile(t, filepath.Join(analyzed, name), filepath.Join(dir, name))
	}
	program := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asProgram, os.Args[0])
	expect.NoError(t, os.WriteFile(filepath.Join(bin, "torchpe"), []byte(program), 0o777))
	used, ran := map[string]bool{}, map[string]bool{}
	for _, line := range lines {
		skip := ""
		for _, n := range notRun {
			if strings.Contains(line.command, n.part) {
				skip, used[n.part] = n.reason, true
			}
		}
		for _, n := range needs {
			if !strings.Contains(line.command, n.part) {
				continue
			}
			path := interpreterWith(n.interpreter, n.load)
			if path == "" {
				skip = fmt.Sprintf("needs a %s that can %q (python3: /usr/bin/python3, or one named in TORCHPE_PYTHON)",
					n.interpreter, n.load)
			}
			line.command = strings.Replace(line.command, n.interpreter, path, 1)
			break
		}
		command := shortened(line.command)
		if ran[command] {
			skip = "ran before"
		}
		ran[command] = true
		if skip != "" {
			t.Logf("%s: not run: %s", line.at, skip)
			continue
		}
		start := time.Now()
		out, code := runDocLine(t, dir, bin, command)
		t.Logf("%s: %.1f s", line.at, time.Since(start).Seconds())
		want := 0
		for _, f := range fails {
			if strings.HasPrefix(line.command, f.begins) {
				want = f.code
			}
		}
		expect.Equal(t, fmt.Sprintf("%s: %s: %s\nexit code", line.at, command, tail(out)), code, want)
	}
	for _, n := range notRun {
		if !used[n.part] {
			t.Errorf("no page has %q: take it off the list", n.part)
		}
	}
}

// needsProcess matches what a shell runs: commands with processes of their own, and what is more than
// a command of torchpe. The others save the start of a program.
var needsProcess = regexp.MustCompile(`^torchpe (demo|bench|sweep paper)|^[^t]|[|&;<>$]`)

// runDocLine runs a command in dir and returns what it prints with its exit code. bin has the program.
func runDocLine(t *testing.T, dir, bin, command string) (printed string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	alone := !needsProcess.MatchString(command)
	if alone { // bash takes the words apart
		command = `torchpe() { printf '%s\0' "$@"; }; ` + command
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if !alone || err != nil {
		return fmt.Sprint(string(out), err), cmd.ProcessState.ExitCode()
	}
	stdout, stderr, code := here(t, dir, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")...)
	return stdout + stderr, code
}

// tail returns the last lines of an output.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-6):], "\n")
}
