package series

import (
	"fmt"
	"slices"
	"strings"
)

// Remarks returns the notes on files and their arrays. A note that several share appears once.
func Remarks(infos []*Info) (lines []string) {
	at, more := map[string]int{}, map[int]int{}
	for _, info := range infos {
		said := slices.Clone(info.Notes)
		ofArray := func(a Array) bool { return a.Problem == info.Problem }
		if !slices.ContainsFunc(info.Arrays, ofArray) { // else it stands at its array
			said = append(said, info.Problem)
		}
		names := make([]string, len(said)) // of the arrays with this note
		for _, a := range info.Arrays {
			if !slices.Contains(said, a.Problem) {
				said, names = append(said, a.Problem), append(names, ": "+a.Name)
			}
		}
		for k, line := range said {
			text := strings.Replace(strings.ReplaceAll(line, info.File, ""), names[k], "", 1)
			if first, ok := at[text]; ok {
				more[first]++
			} else if line != "" {
				at[text] = len(lines)
				lines = append(lines, line)
			}
		}
	}
	for i, n := range more {
		lines[i] += fmt.Sprintf(" (%d more like this)", n)
	}
	return lines
}
