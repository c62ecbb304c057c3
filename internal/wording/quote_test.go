package wording

import (
	"os/exec"
	"testing"
)

// Bash reads every quoted text back as it was.
func TestQuote(t *testing.T) {
	for _, text := range []string{"plain-1.0", "", "a b", "$(touch x)", "it's", `\"`, "*", "~", "a\nb", "50%"} {
		got, err := exec.Command("bash", "-c", "printf %s "+Quote(text)).Output()
		if err != nil || string(got) != text {
			t.Errorf("%q: bash reads %q (%v)", text, got, err)
		}
		if text == "plain-1.0" && Quote(text) != text {
			t.Errorf("%s: needs no quotes", Quote(text))
		}
	}
}
