package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// LaTeX writes t as a table environment for the booktabs package, with the title as its caption and
// the note below. Plain pdflatex compiles it, whatever the texts are.
func (t Table) LaTeX(w io.Writer) error {
	return t.write(w, "LaTeX", t.forPeople(), t.latex)
}

func (t Table) latex(b *bytes.Buffer) error {
	align := bytes.Repeat([]byte("r"), len(t.Columns))
	for j := range align {
		if t.isLeft(j) {
			align[j] = 'l'
		}
	}
	b.WriteString("% Needs \\usepackage{booktabs}.\n\\begin{table}[htbp]\n  \\centering\n")
	if title := oneLine(t.Title); title != "" {
		fmt.Fprintf(b, "  \\caption{%s}\n", escapeLaTeX(title))
	}
	fmt.Fprintf(b, "  \\begin{tabular}{%s}\n    \\toprule\n", align)
	header, rows := t.shown(escapeLaTeX)
	line := func(cells []string) { fmt.Fprintf(b, "    %s \\\\\n", strings.Join(cells, " & ")) }
	line(header)
	b.WriteString("    \\midrule\n")
	for _, row := range rows {
		line(row)
	}
	b.WriteString("    \\bottomrule\n  \\end{tabular}\n")
	if note := oneLine(t.Note); note != "" {
		fmt.Fprintf(b, "  \\par\\smallskip\n  {\\footnotesize %s\\par}\n", escapeLaTeX(note))
	}
	b.WriteString("\\end{table}\n")
	return nil
}

// escapeLaTeX returns pdflatex source that prints a single line of text: special characters
// escaped, Greek letters and signs as mathematics, dashes and quotes separated where they would
// join. A character that pdflatex has no font for without further packages, such as a Chinese one,
// becomes its code in brackets: [U+4E2D].
func escapeLaTeX(s string) string {
	var b strings.Builder
	last := byte(0)
	for _, r := range oneLine(s) {
		source, known := latexSource[r]
		switch {
		case known:
		case ' ' <= r && r <= '~', accented(r):
			source = string(r)
		default:
			source = fmt.Sprintf("{[}U+%04X{]}", r)
		}
		if source == "" {
			continue
		}
		if joins(last, source[0]) {
			b.WriteString("{}")
		}
		b.WriteString(source)
		last = source[len(source)-1]
	}
	return b.String()
}

// joins reports whether TeX's fonts join two characters into one: -- into a dash, ” and “ into
// quotes, ?` and !` into ¿ and ¡.
func joins(a, b byte) bool {
	switch b {
	case '-', '\'':
		return a == b
	case '`':
		return a == b || a == '?' || a == '!'
	}
	return false
}

// accented reports whether pdflatex prints the letter r in its default font: letters of Latin-1 and
// Latin Extended-A that the text encoding OT1 has, found by compiling each.
func accented(r rune) bool {
	return 0xc0 <= r && r <= 0x17e && !strings.ContainsRune(notInOT1, r)
}
