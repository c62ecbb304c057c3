// Package wording formats text for messages: counted nouns, lists, suggestions for misspelt names and
// quoted shell words.
package wording

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Count returns a number with its noun, whose plural ends in s: "1 run", "2 runs".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Range returns the smallest and the largest of numbers: "3", or "1 to 3".
func Range(numbers []int) string {
	low, high := slices.Min(numbers), slices.Max(numbers)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// List joins the first limit texts with commas and appends the number of the others.
func List(limit int, texts []string) string {
	if len(texts) > limit {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:limit], ", "), len(texts)-limit)
	}
	return strings.Join(texts, ", ")
}

// Nearest returns the candidate closest to name by edit distance, or "" if none is close. A close
// candidate differs in one letter or in at most a third of the letters.
func Nearest(name string, candidates []string) string {
	best, limit := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		d := distance(name, c)
		if len(name) > 2 && strings.HasPrefix(c, name) {
			d = 1 // cut short
		}
		if d < limit {
			best, limit = c, d
		}
	}
	return best
}

// Hint returns `; did you mean "x"?` for the nearest candidate, or "" if none is close.
func Hint(name string, candidates []string) string {
	if best := Nearest(name, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// distance returns the edit distance of a and b in bytes. Swapping two adjacent bytes counts as one
// edit (optimal string alignment; Damerau 1964).
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

// plain matches words that need no quotes in #SBATCH lines and in bash.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:@%=,+-]+$`)

// IsPlain reports whether a word needs no quotes.
func IsPlain(word string) bool { return plain.MatchString(word) }

// Quote returns text quoted as one bash word.
func Quote(text string) string {
	if IsPlain(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Capital returns a non-empty text with a capital first letter.
func Capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
