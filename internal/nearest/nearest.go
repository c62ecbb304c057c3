// Package nearest finds the name that somebody probably meant. It imports the standard library only.
package nearest

import "fmt"

// Name returns the candidate closest to name by edit distance, or "" where none is close: more than a third of the letters,
// and more than one, would have to change.
func Name(name string, candidates []string) string {
	best, limit := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(name, c); d < limit {
			best, limit = c, d
		}
	}
	return best
}

// Hint returns `; did you mean "x"?` for the nearest candidate, or "" where none is close.
func Hint(name string, candidates []string) string {
	if best := Name(name, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// distance is the Levenshtein distance of a and b, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
