package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// docs/command-line.md has the table of exit codes.
func TestExitCodesOnTheirPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| exit code | means |\n|---|---|\n"
	for _, e := range exitCodes {
		table += fmt.Sprintf("| %d | %s |\n", e.code, e.means)
	}
	if !strings.Contains(string(page), table) {
		t.Errorf("docs/command-line.md has another table than\n%s", table)
	}
}

// docs/command-line.md lists the commands without --json.
func TestJSONFlagsOnTheirPage(t *testing.T) {
	var without []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "torchpe ")
		if cmd.Flags().Lookup("json") == nil && !strings.HasPrefix(path, "completion") && cmd.Use[0] != '_' &&
			!cmd.HasSubCommands() && cmd.IsAvailableCommand() {
			without = append(without, "`"+path+"`")
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	for _, c := range newRootCommand().Commands() {
		walk(c)
	}
	page, err := os.ReadFile("../../docs/command-line.md")
	want := strings.Join(without, ", ")
	if text := strings.Join(strings.Fields(string(page)), " "); err != nil || !strings.Contains(text, want) {
		t.Errorf("docs/command-line.md does not have %s", want)
	}
}

// What commands that write files print with --json says what was written.
func TestJSONOfWhatIsWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "q.json"), []byte("[[1, 1]]"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{
		{"data sequence generate reverse-string --count 3 --length 4 --out r.txt",
			`{"file":"r.txt","task":"reverse-string","examples":3,"shortest":4,"longest":4}`},
		{"data sequence check reverse-string r.txt",
			`{"file":"r.txt","task":"reverse-string","examples":3,"shortest":4,"longest":4}`},
		{"data hcp generate --surrogate subjects=2,frames=20 --out rest",
			`{"out":"rest","runs":2,"frames":40,"tokens":360}`},
		{"data hcp convert rest --out npy", `{"out":"npy","runs":2,"frames":40,"tokens":360,"notes":[`},
		{"data positions --task masked --data npy --dims 3 --out p.csv", `"out":"p.csv","tokens":360,"dimensions":3,`},
		{"pe values nope --what logits --tokens 1 --dim 2 --q q.json --k q.json",
			`"values":[[[1.414213562373095]]]`},
	} {
		stdout, stderr, code := here(t, dir, append(strings.Fields(c.command), "--json")...)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(stdout)); err != nil || code != 0 ||
			!strings.Contains(compact.String(), c.want) {
			t.Errorf("%s: exit code %d, %s%s, want %s", c.command, code, stdout, stderr, c.want)
		}
	}
}

// doctor --strict fails where doctor finds a problem: a slow kernel of the BLAS, say.
func TestDoctorStrict(t *testing.T) {
	slow := "OPENBLAS_CORETYPE=Prescott TORCHPE_BLAS_REPAIR=0; export OPENBLAS_CORETYPE TORCHPE_BLAS_REPAIR"
	for _, setup := range []string{":", slow} {
		out, _ := inherit(t, t.TempDir(), setup, "doctor", "--json").Output()
		var system struct{ Problems []string }
		if err := json.Unmarshal(out, &system); err != nil {
			t.Fatal(err)
		}
		if setup == slow && len(system.Problems) == 0 {
			t.Log("nothing is wrong here where something should be: another BLAS?")
		}
		want := exitDone
		if len(system.Problems) > 0 {
			want = exitFailed
		}
		strict, err := inherit(t, t.TempDir(), setup, "doctor", "--strict").CombinedOutput()
		if code := exitStatus(err); code != want {
			t.Errorf("%s: exit code %d with the problems %q: %s", setup, code, system.Problems, strict)
		}
	}
}

// - reads from standard input what the file holds, in each format; runs need files.
func TestStandardInput(t *testing.T) {
	dir := t.TempDir()
	smallSet(t, dir)
	run := func(command string) (string, int) {
		out, stderr, code := here(t, dir, strings.Fields(command)...)
		return out + stderr, code
	}
	for _, command := range []string{"pe values 1d-fixed --tokens 9 --dim 8 --out table.npy",
		"pe values 1d-fixed --tokens 9 --dim 8 --out table.json",
		"data sequence generate reverse-string --out reverse.txt", "train --preset quick --dry-run"} {
		if out, code := run(command); code != 0 {
			t.Fatalf("%s: %s", command, out)
		} else if strings.HasPrefix(command, "train") {
			if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(out), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for file, text := range map[string]string{"sweep.yaml": "grid: {preset: quick, heads: [1, 2]}\n",
		"table.csv": "a,b,c\n1,2,3.5\n4,5,6\n7,8,1\n2,2,9\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ file, command string }{
		{"table.npy", "analyze rank --json --table %"},
		{"table.csv", "analyze rank --json --table %"},
		{"table.json", "analyze rank --json --table %"},
		{"train.csv", "data lst show % --index 3"},
		{"reverse.txt", "data sequence check reverse-string %"},
		{"config.json", "train --dry-run --config %"},
		{"sweep.yaml", "sweep % --dry-run --no-calibrate --out o"},
	} {
		want, code := run(strings.ReplaceAll(c.command, "%", c.file))
		if code != 0 {
			t.Errorf("%s: %s", c.command, want)
			continue
		}
		setup := "exec <" + c.file
		got, err := inherit(t, dir, setup, strings.Fields(strings.ReplaceAll(c.command, "%", "-"))...).CombinedOutput()
		if want = strings.ReplaceAll(want, c.file, "-"); err != nil || string(got) != want {
			t.Errorf("%s: %v: %s\nof the file: %s", c.command, err, got, want)
		}
	}
}
