package main

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// The help of train has the usual flags in lines as wide as the terminal, --help all every flag, and
// both name kinds of values in words.
func TestTrainHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	help := func(args ...string) string {
		root := newRootCommand()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs(append([]string{"train", "--help"}, args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	short, all := help(), help("all")
	if n := strings.Count(short, "\n"); n > 66 {
		t.Errorf("the help has %d lines", n)
	}
	_, flags, _ := strings.Cut(all, "\nFlags:\n")
	for line := range strings.Lines(flags) {
		if n := utf8.RuneCountInString(line); n > 90 { // pflag does not break the default
			t.Errorf("a line of %d: %s", n, line)
		}
	}
	for _, no := range []string{"Slice", " float ", " int ", "string "} {
		if strings.Contains(flags, no) {
			t.Errorf("the help has %q", no)
		}
	}
	newTrainCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if strings.Count(flags, " --"+f.Name+" ") == 0 {
			t.Errorf("--help all lacks --%s", f.Name)
		}
	})
	if strings.Contains(short, "--embedding-init") || !strings.Contains(short, "--help all") {
		t.Errorf("the short help:\n%s", short)
	}
}

func TestPlainText(t *testing.T) {
	for given, want := range map[string]string{
		"lstat nowhere: no such file or directory":                "nowhere: no such file or directory",
		"--data: stat a/b.csv: no such file or directory":         "--data: a/b.csv: no such file or directory",
		`line 3: strconv.ParseFloat: parsing "x": invalid syntax`: `line 3: "x" is no number that fits`,
		"open run/x: permission denied: see doctor":               "run/x: permission denied: see doctor",
		"nothing of these": "nothing of these",
	} {
		if got := plainText(errors.New(given)); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}
