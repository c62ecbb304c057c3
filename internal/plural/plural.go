// Package plural counts things in messages.
package plural

import "fmt"

// Of returns a number with its noun, whose plural ends in s: "1 run", "2 runs".
func Of(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
