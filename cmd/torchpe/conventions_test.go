package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"torchpe/internal/expect"
)

// docs/command-line.md has the table of exit codes.
func TestExitCodesOnTheirPage(t *testing.T) {
	page := expect.Must(os.ReadFile("../../docs/command-line.md"))
	table := "| exit code | means |\n|---|---|\n"
	for _, e := range exitCodes {
		table += fmt.Sprintf("| %d | %s |\n", e.code, e.means)
	}
	expect.Contains(t, string(page), table)
}

// docs/command-line.md lists the commands without --json.
func TestJSONFlagsOnTheirPage(t *testing.T) {
	var without []string
	walk(newRootCommand(), func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "torchpe ")
		if cmd.Flags().Lookup("json") == nil && !strings.HasPrefix(path, "completion") && cmd.Use[0] != '_' &&
			!cmd.HasSubCommands() && cmd.IsAvailableCommand() {
			without = append(without, "`"+path+"`")
		}
	})
	page, err := os.ReadFile("../../docs/command-line.md")
	want := strings.Join(without, ", ")
	if text := strings.Join(strings.Fields(string(page)), " "); err != nil || !strings.Contains(text, want) {
		t.Errorf("docs/command-line.md does not have %s", want)
	}
}

// What commands that write files print with --json says what was written.
func TestJSONOfWhatIsWritten(t *testing.T) {
	dir := put(t, map[string]string{"q.csv": "1,1\n"})
	for _, c := range []struct{ command, want string }{
		{"data hcp generate --surrogate subjects=2,frames=20 --out rest",
			`{"out":"rest","runs":2,"frames":40,"tokens":360}`},
		{"data hcp convert rest --out npy", `{"out":"npy","runs":2,"frames":40,"tokens":360,"notes":[`},
		{"data positions --task masked --data npy --dims 3 --out p.csv", `"out":"p.csv","tokens":360,"dimensions":3,`},
		{"data positions --task masked --data npy --method graph --out g.csv",
			`,"notes":["data: 40 frames of 360 tokens, 2 runs`},
		{"pe values nope --what logits --tokens 1 --dim 2 --q q.csv --k q.csv",
			`"values":[[[1.414213562373095]]]`},
	} {
		stdout := says(t, dir, c.command+" --json", 0)
		var compact bytes.Buffer
		if err := json.Compact(&compact, []byte(stdout)); err != nil || !strings.Contains(compact.String(), c.want) {
			t.Errorf("%s: %v, %s, want %s", c.command, err, stdout, c.want)
		}
	}
}

// doctor --strict fails where doctor finds a problem: a slow kernel of the BLAS, say.
func TestDoctorStrict(t *testing.T) {
	slow := "OPENBLAS_CORETYPE=Prescott TORCHPE_BLAS_REPAIR=0; export OPENBLAS_CORETYPE TORCHPE_BLAS_REPAIR"
	for _, setup := range []string{":", slow} {
		out, failure := inherit(t.TempDir(), setup, "doctor --strict --json").Output()
		var system struct{ Problems []string }
		expect.NoError(t, json.Unmarshal(out, &system))
		if setup == slow && len(system.Problems) == 0 {
			t.Log("nothing is wrong here where something should be: another BLAS?")
		}
		want := exitDone
		if len(system.Problems) > 0 {
			want = exitFailed
		}
		expect.Equal(t, setup, exitStatus(failure), want)
	}
}

// - reads from standard input what the file holds, in each format; runs need files.
func TestStandardInput(t *testing.T) {
	dir := put(t, map[string]string{"sweep.yaml": "grid: {preset: quick, heads: [1, 2]}\n",
		"table.csv": "a,b,c\n1,2,3.5\n4,5,6\n7,8,1\n2,2,9\n"})
	smallSet(t, dir)
	says(t, dir, "pe values 1d-fixed --tokens 9 --dim 8 --out table.npy", 0)
	config := says(t, dir, "train --preset quick --dry-run", 0)
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666))
	free := regexp.MustCompile(`\([^(]* free\)`) // space of the disk, which changes
	for _, c := range []struct{ file, command string }{
		{"table.npy", "analyze rank --json --table %"},
		{"table.csv", "analyze rank --json --table %"},
		{"train.csv", "data lst check --validation validation.csv %"},
		{"config.json", "train --dry-run --config %"},
		{"sweep.yaml", "sweep % --dry-run --no-calibrate --out o"},
	} {
		want := says(t, dir, strings.ReplaceAll(c.command, "%", c.file), 0)
		got, err := inherit(dir, "exec <"+c.file, strings.ReplaceAll(c.command, "%", "-")).CombinedOutput()
		if want = strings.ReplaceAll(want, c.file, "-"); err != nil ||
			free.ReplaceAllString(string(got), "") != free.ReplaceAllString(want, "") {
			t.Errorf("%s: %v: %s\nof the file: %s", c.command, err, got, want)
		}
	}
	got, err := inherit(dir, "exec <config.json", "analyze rank --table -").CombinedOutput()
	if want := "-: arrays are not read from JSON"; err == nil || !strings.Contains(string(got), want) {
		t.Errorf("%v: %s, want %s", err, got, want)
	}
}
