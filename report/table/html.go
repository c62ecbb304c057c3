package table

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// html writes t as a <table> element that is also well-formed XML. The title is its caption and the note
// its foot. Columns of numbers have class "n".
func (t Table) html(b *bytes.Buffer) error {
	class := func(j int) string {
		if t.isLeft(j) {
			return ""
		}
		return ` class="n"`
	}
	b.WriteString("<table>\n")
	if title := oneLine(t.Title); title != "" {
		fmt.Fprintf(b, "<caption>%s</caption>\n", html.EscapeString(title))
	}
	header, rows := t.shown(html.EscapeString)
	b.WriteString("<thead>\n<tr>")
	for j, h := range header {
		fmt.Fprintf(b, `<th scope="col"%s>%s</th>`, class(j), h)
	}
	b.WriteString("</tr>\n</thead>\n<tbody>\n")
	for i, row := range rows {
		b.WriteString("<tr>")
		for j, cell := range row {
			if j == 0 && t.Rows[i][j].kind == text { // the row's name
				fmt.Fprintf(b, `<th scope="row"%s>%s</th>`, class(j), cell)
				continue
			}
			if t.Rows[i][j].kind == meanSD { // allow a line break only before the sign
				cell = strings.Replace(cell, "± ", "±\u00a0", 1)
			}
			fmt.Fprintf(b, `<td%s>%s</td>`, class(j), cell)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n")
	if note := oneLine(t.Note); note != "" {
		fmt.Fprintf(b, "<tfoot>\n<tr><td colspan=\"%d\">%s</td></tr>\n</tfoot>\n", len(t.Columns),
			html.EscapeString(note))
	}
	b.WriteString("</table>\n")
	return nil
}
