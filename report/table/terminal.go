package table

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Terminal writes t framed with lines, the title above and the note below it.
func (t Table) Terminal(w io.Writer) error {
	return t.write(w, "text", t.forPeople(), t.terminal)
}

func (t Table) terminal(b *bytes.Buffer) error { // into memory: tablewriter drops errors of the writer it is given
	var align tw.Alignment
	for j := range t.Columns {
		align = append(align, map[Align]tw.Align{AlignLeft: tw.AlignLeft, AlignRight: tw.AlignRight, AlignCenter: tw.AlignCenter}[t.align(j)])
	}
	if title := oneLine(t.Title); title != "" {
		fmt.Fprintln(b, title)
	}
	grid := tablewriter.NewTable(b,
		tablewriter.WithHeaderAutoFormat(tw.Off), // or σ becomes Σ and "IID test" is shouted
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	header, rows := t.shown(func(s string) string { return s })
	grid.Header(header)
	if err := grid.Bulk(rows); err != nil {
		return err
	}
	if err := grid.Render(); err != nil {
		return err
	}
	if note := oneLine(t.Note); note != "" {
		fmt.Fprintln(b, note)
	}
	return nil
}
