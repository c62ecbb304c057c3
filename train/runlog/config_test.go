package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// TestConfig checks that the configuration comes back as it was, in its order and with its numbers
// as they were spelled, and that config.json itself is fit to start another run.
func TestConfig(t *testing.T) {
	const config = `{"task":"lst","pe":{"name":"learn","sigma":0.20},"seed":18446744073709551615,"lr":1e-3,"σ":"<&>"}`
	for _, given := range []string{config, "  " + config + "\n", `{"schema":1,` + config[1:],
		config[:len(config)-1] + `,"schema":1}`} {
		dir := filepath.Join(t.TempDir(), "a")
		r := expect.Must(Create(dir, []byte(given), Environment{}, Options{}))
		if got := r.Config(); string(got.JSON) != config || got.Schema != SchemaVersion {
			t.Errorf("given %s\ngot schema %d, %s", given, got.Schema, got.JSON)
		}
		text, err := os.ReadFile(filepath.Join(dir, configFile))
		if err != nil || !strings.HasPrefix(string(text), "{\n  \"schema\": 2,\n  \"task\": \"lst\",\n") {
			t.Errorf("config.json is %s (%v)", text, err)
		}
		again := expect.Must(Create(filepath.Join(t.TempDir(), "b"), text, Environment{}, Options{}))
		expect.Equal(t, "again", string(again.Config().JSON), config)
		expect.NoError(t, errors.Join(r.Close(), again.Close()))
	}
	r := expect.Must(Create(filepath.Join(t.TempDir(), "empty"), []byte(" {}"), Environment{}, Options{}))
	defer r.Close()
	expect.Equal(t, "empty configuration", string(r.Config().JSON), "{}")
}

// TestConfigRefuses checks that what is no configuration is refused before a directory is made.
func TestConfigRefuses(t *testing.T) {
	for config, want := range map[string]string{
		``:                        "not a JSON object",
		`null`:                    "not a JSON object",
		`[1]`:                     "not a JSON object",
		`{"a":1`:                  "EOF",
		`{"a":NaN}`:               "invalid character 'N'",
		`{"a":1}{"b":2}`:          "after the end",
		`{"a":1} x`:               "after the end",
		`{"a":1,"a":2}`:           `duplicate key "a"`,
		`{"schema":0}`:            "not a positive integer",
		`{"schema":"1"}`:          "not a positive integer",
		`{"schema":1.5}`:          "not a positive integer",
		`{"schema":3}`:            "written by a newer torchpe",
		`{"a":1,"schema":999999}`: "999999",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		_, err := Create(dir, []byte(config), Environment{}, Options{})
		expect.Error(t, err, want, dir)
		expect.ErrorIs(t, expect.ErrorOf(os.Stat(dir)), os.ErrNotExist)
	}
}

// TestForeignConfig checks runs that another version, or somebody else, wrote.
func TestForeignConfig(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	expect.NoError(t, os.Mkdir(dir, 0o777))
	path := filepath.Join(dir, configFile)
	open := func(config string) error {
		t.Helper()
		expect.NoError(t, os.WriteFile(path, []byte(config), 0o666))
		r, err := Open(dir)
		if err == nil {
			return r.Close()
		}
		return err
	}
	expect.NoError(t, open(`{"task":"lst","schema":1}`))
	expect.ErrorIs(t, open(`{"schema":3}`), ErrSchema, path)
	expect.Error(t, open(`{"task":"lst"}`), "--config")
	expect.Error(t, open(`{"sche`), path)
	expect.Refused(t, "half a file", expect.ErrorOf(Resume(dir, Options{})))
	expect.NoError(t, os.Remove(path))
	for _, dir := range []string{dir, filepath.Join(dir, "missing")} {
		expect.ErrorIs(t, expect.ErrorOf(Open(dir)), ErrNoRun)
		expect.ErrorIs(t, expect.ErrorOf(resumeIt(dir)), ErrNoRun)
	}
	expect.Equal(t, "files left", len(expect.Must(os.ReadDir(dir))), 0)
}

// TestValidateName lists names that are fine and names that are not, with a word of the reason.
func TestValidateName(t *testing.T) {
	for _, name := range []string{"a", "lst-learn_sigma=0.2_seed3", ".hidden", "a.b", "Größe", "σ0.2", "脑",
		"com10", "console", strings.Repeat("x", 128), "a b"} {
		expect.NoError(t, ValidateName(name))
	}
	for name, want := range map[string]string{
		"":                       "empty",
		".":                      "dot",
		"..":                     "dot",
		"../x":                   "the character",
		"/abs":                   "the character",
		"a/b":                    "the character",
		`a\b`:                    "the character",
		"-rf":                    "like an option",
		strings.Repeat("x", 129): "129 bytes",
		strings.Repeat("é", 150): "300 bytes",
		"a\nb":                   "the character",
		"a\x00":                  "the character",
		"a\x7f":                  "the character",
		"a\u200bb":               "the character",
		"a\u202eb":               "the character",
		"e\u0301":                "the character",
		"\xff":                   "the character",
		"con":                    "Windows",
		"CON":                    "Windows",
		"nul.txt":                "Windows",
		"Com1":                   "Windows",
		"lpt9.x.y":               "Windows",
		"a ":                     "space",
		" a":                     "space",
		"a.":                     "dot",
		"...":                    "dot",
	} {
		err := ValidateName(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
			continue
		}
		for _, c := range err.Error() {
			if c < ' ' || c > '~' {
				t.Errorf("%q: the message has the character %U", name, c)
			}
		}
	}
	expect.Refused(t, "a bad name",
		expect.ErrorOf(Create(filepath.Join(t.TempDir(), "-rf"), []byte("{}"), Environment{}, Options{})))
}
