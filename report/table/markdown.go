package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// markdown writes t in GitHub's dialect, with the title above it in bold and the note below. Columns are
// aligned in the source too.
func (t Table) markdown(b *bytes.Buffer) error {
	if title := oneLine(t.Title); title != "" {
		fmt.Fprintf(b, "**%s**\n\n", escapeMarkdown(title))
	}
	header, rows := t.shown(escapeMarkdown)
	if err := grid(b, header, rows, t.isLeft, tablewriter.WithRenderer(renderer.NewMarkdown()),
		tablewriter.WithTrimSpace(tw.Off)); err != nil {
		return err
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
