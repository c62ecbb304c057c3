// Package shell writes command lines for bash.
package shell

import (
	"regexp"
	"strings"
)

// plain matches words that need no quoting, in #SBATCH lines and in bash.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%=,+-]+$`)

// IsPlain reports whether a word is the same with and without quotes.
func IsPlain(word string) bool { return plain.MatchString(word) }

// Quote returns text as bash takes it for one word.
func Quote(text string) string {
	if IsPlain(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
