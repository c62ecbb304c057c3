package table

import (
	"bytes"
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Terminal writes t framed with lines, with the title above and the note below it. It fits t into the
// [Width] of w and adds a note on what it left out.
func (t Table) Terminal(w io.Writer) error {
	return t.write(w, format{name: "text", body: func(t Table, b *bytes.Buffer) error {
		return t.terminal(b, Width(w))
	}})
}

// terminal renders t to memory, because tablewriter drops write errors.
func (t Table) terminal(b *bytes.Buffer, width int) error {
	more := ""
	if t.More != "" {
		more = ", and so does " + t.More
	}
	s := t.terminalTable().fit(width, more)
	header, rows := make([]string, len(s.columns)), make([][]string, s.rows)
	for j, c := range s.columns {
		header[j] = c.heading
		for i, cell := range c.cells {
			rows[i] = append(rows[i], cell)
		}
	}
	writeLines(b, plain(oneLine(t.Title)), width)
	if err := grid(b, header, rows, func(j int) bool { return s.columns[j].left }); err != nil {
		return err
	}
	for _, note := range append(s.notes, plain(oneLine(t.Note))) {
		writeLines(b, note, width)
	}
	return nil
}

// grid writes cells as a table, framed unless an option says otherwise.
func grid(b *bytes.Buffer, header []string, rows [][]string, isLeft func(int) bool,
	options ...tablewriter.Option) error {
	align := make(tw.Alignment, len(header))
	for j := range align {
		align[j] = tw.AlignRight
		if isLeft(j) {
			align[j] = tw.AlignLeft
		}
	}
	t := tablewriter.NewTable(b, append(options,
		tablewriter.WithHeaderAutoFormat(tw.Off), // keeps σ and "IID test" from becoming upper case
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)...)
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	return t.Render()
}

// writeLines writes a text wrapped to a width; 0 means no limit. It writes nothing for an empty text.
func writeLines(b *bytes.Buffer, text string, width int) {
	if width == 0 && text != "" {
		fmt.Fprintln(b, text)
		return
	}
	for _, line := range Wrap(text, width) {
		fmt.Fprintln(b, line)
	}
}
