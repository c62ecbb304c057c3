package table

import "testing"

// Lists of settings are shown as people write them.
func TestParseLists(t *testing.T) {
	for given, want := range map[string]string{
		`["prices.csv"]`: "prices.csv", `["a b.csv","\u00e9.csv"]`: "a b.csv, é.csv",
		"[0.15,0.5]": "0.15, 0.5", "[]": "",
		"[x": "[x", "0.2": "0.2", "text": "text",
	} {
		if got := Parse(given).String(); got != want {
			t.Errorf("Parse(%s) = %q, want %q", given, got, want)
		}
	}
}
