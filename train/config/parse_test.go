package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// What is wrong in a config.json is said with line and column, in the words of the format.
func TestReadStrict(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, want string }{
		{"twice", "{\"seed\": 1,\n  \"steps\": 2, \"steps\": 3}", `line 2, column 15: "steps" is given twice`},
		{"in another case", `{"steps": 2, "Steps": 3}`, `column 14: "Steps" is given twice`},
		{"twice below", `{"pe_options": {"a": "1", "a": "2"}}`, `line 1, column 27: "a" is given twice`},
		{"unknown", "{\n\t\"stepz\": 2}", `line 2, column 2: json: unknown field "stepz"; the fields are `},
		{"after letters of several bytes", `{"σσ": 2}`, `line 1, column 2: json: unknown field`},
		{"nearly a field", `{"epoch": 2}`, `did you mean "epochs"?`},
		{"number out of range", `{"epochs": 1e99}`, "epochs"},
		{"type", "{\n\"steps\": \"2\"}", "line 2, column "},
		{"syntax", "{\n\"steps\": 2,\n}", "line 3, column 1: invalid character '}'"},
		{"cut", `{"steps": 2`, "line 1, column 11: unexpected end of JSON input"},
		{"empty", "", "line 1, column 1: unexpected end"},
		{"null", "null", "line 1, column 1: want an object"},
		{"list", "[1]", "line 1, column 1: want an object"},
		{"second", "{}\n{}", "line 2, column 1: invalid character '{' after top-level value"},
		{"byte order mark", "\ufeff{}", "line 1, column 1: invalid character"},
		{"nested", strings.Repeat("[", 200_000), "exceeded max depth"},
		{"leading zero", `{"steps": 010}`, "line 1, column 12: invalid character '1'"},
		{"NaN", `{"lr": NaN}`, "line 1, column 8: invalid character 'N'"},
		{"CRLF", "{\r\n\"a\": 1,\r\n\"A\": 2}", `line 3, column 1: "A" is given twice`},
		{"NUL", "{\x00}", "line 1, column 2: invalid character"},
	} {
		path := filepath.Join(dir, "config.json")
		expect.NoError(t, os.WriteFile(path, []byte(c.text), 0o666))
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), path+": configuration: line ") {
			t.Errorf("%s: %.300v", c.name, err)
		}
	}
	big := filepath.Join(dir, "big.json")
	expect.NoError(t, os.WriteFile(big, nil, 0o666))
	expect.NoError(t, os.Truncate(big, maxFile+1))
	for file, want := range map[string]string{"/dev/zero": "a device", big: "16.8 MB", dir: "a folder"} {
		expect.Error(t, expect.ErrorOf(Read(file)), want)
	}
}
