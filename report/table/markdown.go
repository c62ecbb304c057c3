package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// markdown writes t in GitHub's dialect, with the title above it in bold and the note below. Columns are
// aligned in the source too.
func (t Table) markdown(b *bytes.Buffer) error {
	if title := oneLine(t.Title); title != "" {
		fmt.Fprintf(b, "**%s**\n\n", escapeMarkdown(title))
	}
	header, rows := t.shown(escapeMarkdown)
	width := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for j, cell := range row {
			width[j] = max(width[j], twwidth.Width(cell), 4)
		}
	}
	line := func(cells []string) {
		for j, cell := range cells {
			left, right := 0, width[j]-twwidth.Width(cell)
			if !t.isLeft(j) {
				left, right = right, 0
			}
			fmt.Fprintf(b, "| %s%s%s ", strings.Repeat(" ", left), cell, strings.Repeat(" ", right))
		}
		b.WriteString("|\n")
	}
	line(header)
	for j, n := range width {
		rule := strings.Repeat("-", n-1) + ":"
		if t.isLeft(j) {
			rule = ":" + strings.Repeat("-", n-1)
		}
		fmt.Fprintf(b, "| %s ", rule)
	}
	b.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
	if note := oneLine(t.Note); note != "" {
		fmt.Fprintf(b, "\n*Note.* %s\n", escapeMarkdown(note))
	}
	return nil
}

// escapeMarkdown puts a backslash before characters with a special meaning in Markdown text, tables or
// GitHub's formulas (CommonMark 0.31, section 2.4).
func escapeMarkdown(s string) string { return markdownSpecials.Replace(s) }

var markdownSpecials = func() *strings.Replacer {
	var pairs []string
	for _, r := range "\\`*_[]<>&|~$" {
		pairs = append(pairs, string(r), `\`+string(r))
	}
	return strings.NewReplacer(pairs...)
}()
