package figure

import (
	"fmt"
	"sort"
	"strings"

	"gonum.org/v1/plot/vg"
)

// labelShare is the largest share of the width of a panel that names may take, or of its height if they are
// rotated.
const labelShare = 0.25

// shortenedNote is the note of a panel with shortened names.
const shortenedNote = "Long names are shortened"

// shorten returns names no wider than width and reports whether it changed any. If a name is too wide, it
// removes the leading words that all names share. It then cuts names that are still too wide in the
// middle, or at the place that leaves the most names distinct. Names that are still equal are
// numbered.
func (w writer) shorten(names []string, width vg.Length) (out []string, changed bool) {
	for _, s := range names {
		changed = changed || w.width(s) > width
	}
	if !changed {
		return names, false
	}
	start := commonStart(names)
	bare := make([]string, len(names))
	for i, s := range names {
		bare[i] = strings.TrimPrefix(s, start) // "" has no start
	}
	distinct := countDistinct(names)
	best := -1
	for _, front := range []float64{0.5, 0.25, 0.75, 0, 1} {
		tried := make([]string, len(bare))
		for i, s := range bare {
			tried[i] = w.cut(s, width, front)
		}
		if n := countDistinct(tried); n > best {
			out, best = tried, n
		}
		if best == distinct {
			return out, true
		}
	}
	return w.number(names, out, width), true
}

// number appends "…" and a number to short forms that several names share. Equal names get equal
// numbers.
func (w writer) number(names, short []string, width vg.Length) []string {
	first := map[string]string{} // first name of each short form
	alike := map[string]bool{}
	for i, s := range short {
		if name, ok := first[s]; ok && name != names[i] {
			alike[s] = true
		} else {
			first[s] = names[i]
		}
	}
	out, numbers := make([]string, len(short)), map[string]int{}
	for i, s := range short {
		if out[i] = s; alike[s] {
			if numbers[names[i]] == 0 {
				numbers[names[i]] = len(numbers) + 1
			}
			end := fmt.Sprintf("…%d", numbers[names[i]])
			out[i] = strings.TrimSuffix(w.cut(s+"…", width-w.width(end), 1), "…") + end
		}
	}
	return out
}

// cut replaces a part of s by "…" so that it is no wider than width. About the share front of the
// remaining characters precedes the "…".
func (w writer) cut(s string, width vg.Length, front float64) string {
	if w.width(s) <= width {
		return s
	}
	runes := []rune(s)
	kept := func(keep int) string {
		before := int(front*float64(keep) + 0.5)
		return string(runes[:before]) + "…" + string(runes[len(runes)-keep+before:])
	}
	tooMany := sort.Search(len(runes), func(keep int) bool { return w.width(kept(keep)) > width })
	return kept(max(0, tooMany-1))
}

// commonStart returns the longest common prefix of the names that are not empty. The prefix ends after a
// separator and is shorter than every name.
func commonStart(names []string) string {
	start, some := "", false
	for _, s := range names {
		if s == "" {
			continue
		}
		if !some {
			start, some = s, true
		}
		n := 0
		for n < len(start) && n < len(s)-1 && start[n] == s[n] {
			n++
		}
		start = start[:n]
	}
	return start[:strings.LastIndexAny(start, "_-. /:")+1]
}

func countDistinct(names []string) int {
	all := map[string]bool{}
	for _, s := range names {
		all[s] = true
	}
	return len(all)
}
