package table

import (
	"bytes"
	"fmt"
	"strings"
)

// latex writes t as a table environment for the booktabs package, with the title as its caption and the
// note below. Plain pdflatex compiles it for any texts.
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

// escapeLaTeX returns pdflatex source that prints a single line of text. It escapes special characters,
// writes Greek letters and signs as mathematics, and separates dashes and quotes that would form
// ligatures. A character that pdflatex cannot print without further packages, such as a Chinese one,
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

// joins reports whether TeX's fonts form a ligature of two characters: a dash of two hyphens, quotes of
// two quotation marks, and ¿ and ¡ of ?` and !`.
func joins(a, b byte) bool {
	switch b {
	case '-', '\'':
		return a == b
	case '`':
		return a == b || a == '?' || a == '!'
	}
	return false
}

// accented reports whether r is a letter of Latin-1 or Latin Extended-A that pdflatex prints in its
// default text encoding OT1. Each letter was tested by compiling it.
func accented(r rune) bool {
	return 0xc0 <= r && r <= 0x17e && !strings.ContainsRune(notInOT1, r)
}
