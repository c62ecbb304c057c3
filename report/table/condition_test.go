package table

import (
	"fmt"
	"testing"

	"torchpe/internal/expect"
)

// Lists of settings are shown as people write them.
func TestParseLists(t *testing.T) {
	for given, want := range map[string]string{
		`["prices.csv"]`: "prices.csv", `["a b.csv","\u00e9.csv"]`: "a b.csv, é.csv",
		"[0.15,0.5]": "0.15, 0.5", "[]": "",
		"[x": "[x", "0.2": "0.2", "text": "text",
	} {
		expect.Equal(t, fmt.Sprintf("Parse(%s)", given), Parse(given).String(), want)
	}
}
