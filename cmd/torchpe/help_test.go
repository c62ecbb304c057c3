package main

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"torchpe/internal/expect"
	"torchpe/internal/paper"
	"torchpe/models/pe"
)

// The paper has one title.
func TestTitle(t *testing.T) {
	readme := expect.Must(os.ReadFile("../../README.md"))
	for where, text := range map[string]string{"README.md": string(readme), "--help": helpOf(newRootCommand()),
		"pe show": expect.Must(pe.Find("learn")).About().Title} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), paper.Title) {
			t.Errorf("%s: %s", where, text)
		}
	}
}

// helpOf returns what the help of a command prints.
func helpOf(cmd *cobra.Command, args ...string) string {
	var out strings.Builder
	cmd.SetOut(&out)
	printHelp(cmd, args)
	return out.String()
}

// walk calls a function for each command below cmd.
func walk(cmd *cobra.Command, see func(cmd *cobra.Command)) {
	for _, c := range cmd.Commands() {
		see(c)
		walk(c, see)
	}
}

// The help of each command has its usual flags in lines as wide as the terminal, --help all every
// flag but options of encodings, which pe show has, and both name kinds of values in words.
func TestHelp(t *testing.T) {
	goType := regexp.MustCompile(`Slice|,\.\.\.( |$)|^ +(-., )?--\S+ (float|int|uint|string|bool)|` +
		`default \[[\d"]|yes\|no\|auto:`)
	for _, width := range []string{"80", ""} {
		t.Setenv("COLUMNS", width)
		limit := plainWidth
		if n, err := strconv.Atoi(width); err == nil {
			limit = n
		}
		walk(newRootCommand(), func(cmd *cobra.Command) {
			path := cmd.CommandPath()
			cmd.InitDefaultHelpFlag()
			short, all := helpOf(cmd), helpOf(cmd, "all")
			if n := strings.Count(short, "\n"); n > 125 && limit == 80 {
				t.Errorf("%s: the help has %d lines", path, n)
			}
			for line := range strings.Lines(all) {
				line = strings.TrimRight(line, "\n")
				if n := utf8.RuneCountInString(line); n > limit && len(strings.Fields(line)) > 3 &&
					!strings.HasPrefix(line, "  torchpe ") && !strings.HasPrefix(line, "    --") {
					t.Errorf("%s: a line of %d at %d: %s", path, n, limit, line)
				}
				if goType.MatchString(line) {
					t.Errorf("%s: a type of Go: %s", path, line)
				}
			}
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				isOption := slices.Contains(f.Annotations[helpGroup], encodingOptions)
				if regexp.MustCompile(`(?m)^ +(-., )?--`+f.Name+`( |$)`).MatchString(all) == isOption {
					t.Errorf("%s --help all: --%s is an option of an encoding: %v", path, f.Name, isOption)
				}
			})
		})
	}
}

// The help names one value, or several, as the command takes them.
func TestValuesInHelp(t *testing.T) {
	for path, want := range map[string]string{
		"advise": "--task text |--pe texts |--sigma number |--lr number |--steps number |--members number ",
		"sweep":  "--task texts |--pe texts |--sigma numbers |--lr numbers |--steps numbers |--members numbers ",
	} {
		cmd, _, err := newRootCommand().Find([]string{path})
		expect.NoError(t, err)
		for _, flag := range strings.Split(want, "|") {
			expect.Contains(t, helpOf(cmd), flag)
		}
	}
}

// A command with the flags of train shows the usual ones first, and the others below headings.
func TestUsualFlags(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, path := range []string{"train", "advise", "sweep", "data positions", "bench step"} {
		cmd, _, err := newRootCommand().Find(strings.Fields(path))
		expect.NoError(t, err)
		short, all := helpOf(cmd), helpOf(cmd, "all")
		if strings.Contains(short, "--embedding-init") || !strings.Contains(short, "--help all") {
			t.Errorf("the short help of %s:\n%s", path, short)
		}
		_, flags, _ := strings.Cut(all, "\nFlags:\n")
		if !strings.HasPrefix(flags, "      --task ") || !strings.Contains(flags, "torchpe pe show rope") {
			t.Errorf("the flags of %s:\n%.400s", path, flags)
		}
		if path == "train" { // the README and the examples have them
			expect.Contains(t, short, "      --until ", "      --members ")
		}
	}
}

// A measure of one table has no block -1, and says which it takes.
func TestBlockOfOneTable(t *testing.T) {
	for path, want := range map[string]string{"distances": "from 0 (default 0)", "map": "from 0 (default 0)",
		"rank": "-1 = all"} {
		cmd, _, err := newRootCommand().Find([]string{"analyze", path})
		expect.NoError(t, err)
		_, block, _ := strings.Cut(helpOf(cmd), "--block number")
		block, _, _ = strings.Cut(block, "--")
		expect.Contains(t, strings.Join(strings.Fields(block), " "), want)
	}
}

func TestWrappedHelp(t *testing.T) {
	for text, want := range map[string]string{
		"One two three.\n\n  ab    four five\n        six\n  c     seven": "One two\nthree.\n\n  ab    four\n" +
			"        five\n        six\n  c     seven",
		"All of:\n\n  one or more of\n  three": "All of:\n\n  one or\n  more of\n  three",
	} {
		expect.Equal(t, "wrapped", wrapped(text, 12), want)
	}
}

func TestPlainText(t *testing.T) {
	for given, want := range map[string]string{
		"lstat nowhere: no such file or directory":                "nowhere: no such file or directory",
		"--data: stat a/b.csv: no such file or directory":         "--data: a/b.csv: no such file or directory",
		`line 3: strconv.ParseFloat: parsing "x": invalid syntax`: `line 3: "x" is not a number that fits`,
		"open run/x: permission denied: see doctor":               "run/x: permission denied: see doctor",
		"nothing of these": "nothing of these",
	} {
		expect.Equal(t, given, plainText(errors.New(given)), want)
	}
}
