package table

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"golang.org/x/term"

	"torchpe/internal/wording"
)

// Width returns the number of columns of text that w shows. It is COLUMNS if that is a number, else the
// width of the terminal. It is 0, which means no limit, for files and pipes.
func Width(w io.Writer) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 0 {
		return n
	}
	if f, ok := w.(interface{ Fd() uintptr }); ok { // a file, or a wrapper of one
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// terminalTable is a table of formatted texts, which may have several lines, with notes below it.
type terminalTable struct {
	columns []terminalColumn
	rows    int
	notes   []string
}

type terminalColumn struct {
	heading      string
	cells        []string
	left         bool
	dropPriority int
}

// terminalTable formats t without a limit on its width.
func (t Table) terminalTable() terminalTable {
	header, rows := t.shown(func(s string) string { return s })
	s := terminalTable{rows: len(rows)}
	for j, heading := range header {
		c := terminalColumn{heading: plain(heading), left: t.isLeft(j), dropPriority: t.Columns[j].DropPriority}
		for i, row := range rows {
			if cell := t.Rows[i][j]; !cell.IsText() || cell.isWords {
				row[j] = plain(row[j])
			}
			c.cells = append(c.cells, row[j])
		}
		s.columns = append(s.columns, c)
	}
	return s
}

const (
	minText   = 12 // smallest width that texts are shortened to
	maxListed = 8  // names that a note lists
)

// fit returns s in at most width columns of text; 0 means no limit. It tries in this order to wrap
// headings, to move columns with equal cells to a note, and to transpose the table. These steps lose
// nothing. Otherwise it drops columns of the highest DropPriority, the last ones first, and shortens texts,
// those of the first column, which name the rows, less than the others. Notes list the dropped columns;
// more is a hint that ends such a note.
func (s terminalTable) fit(width int, more string) terminalTable {
	if width == 0 || s.width() <= width {
		return s
	}
	s = s.breakHeadings()
	if s.width() <= width {
		return s
	}
	s = s.dropConstantColumns()
	if transposed := s.transpose(); s.width() > width && transposed.width() <= width {
		return transposed
	}
	var dropped []string
	for s.minWidth(width) > width && len(s.columns) > 1 {
		j := len(s.columns) - 1
		for i := j; i > 0; i-- {
			if s.columns[i].dropPriority > s.columns[j].dropPriority {
				j = i
			}
		}
		dropped = append(dropped, s.columns[j].name())
		s.columns = slices.Delete(slices.Clone(s.columns), j, j+1)
	}
	if dropped != nil {
		slices.Reverse(dropped)
		s.notes = append(s.notes, fmt.Sprintf("Left out at %d columns: %s. COLUMNS=0 shows all%s.", width,
			wording.List(maxListed, dropped), more))
	}
	return s.shorten(width)
}

// width returns the width of s with its frame.
func (s terminalTable) width() int { return s.widthOf(terminalColumn.width) }

// minWidth returns the width of s with its texts shortened to minText, and the names of its rows to twice that,
// or a quarter of a narrow terminal's width. Numbers are not shortened.
func (s terminalTable) minWidth(width int) int {
	shortened := func(c terminalColumn, least int) int {
		if c.left {
			return max(widest(c.heading), min(least, widest(c.cells...)))
		}
		return c.width()
	}
	names := shortened(s.columns[0], max(minText, min(2*minText, width/4))) - shortened(s.columns[0], minText)
	return names + s.widthOf(func(c terminalColumn) int { return shortened(c, minText) })
}

func (s terminalTable) widthOf(column func(terminalColumn) int) int {
	w := 1
	for _, c := range s.columns {
		w += column(c) + 3
	}
	return w
}

// width returns the width of the widest line of c.
func (c terminalColumn) width() int { return max(widest(c.heading), widest(c.cells...)) }

// name returns the heading on one line.
func (c terminalColumn) name() string { return strings.ReplaceAll(c.heading, "\n", " ") }

func widest(texts ...string) int {
	w := 0
	for _, s := range texts {
		for line := range strings.SplitSeq(s, "\n") {
			w = max(w, twwidth.Width(line))
		}
	}
	return w
}

// breakHeadings wraps headings that are wider than their cells.
func (s terminalTable) breakHeadings() terminalTable {
	s.columns = slices.Clone(s.columns)
	for j, c := range s.columns {
		s.columns[j].heading = strings.Join(Wrap(c.heading, widest(c.cells...)), "\n")
	}
	return s
}

// dropConstantColumns moves columns whose cells are all equal to a note. It keeps them in a table of one
// row.
func (s terminalTable) dropConstantColumns() terminalTable {
	if s.rows < 2 {
		return s
	}
	var same []string
	kept := s.columns[:1:1]
	for _, c := range s.columns[1:] {
		if slices.ContainsFunc(c.cells, func(v string) bool { return v != c.cells[0] }) {
			kept = append(kept, c)
		} else {
			same = append(same, c.name()+" "+c.cells[0])
		}
	}
	if same != nil {
		s.columns, s.notes = kept, append(slices.Clone(s.notes), "The same in all rows: "+strings.Join(same, ", ")+".")
	}
	return s
}

// transpose swaps rows and columns.
func (s terminalTable) transpose() terminalTable {
	out := terminalTable{rows: len(s.columns) - 1, notes: s.notes}
	names := terminalColumn{heading: s.columns[0].heading, left: true}
	for _, c := range s.columns[1:] {
		names.cells = append(names.cells, c.name())
	}
	out.columns = append(out.columns, names)
	for i := range s.rows {
		c := terminalColumn{heading: shortenTo(s.columns[0].cells[i], 2*minText)}
		for _, from := range s.columns[1:] {
			c.cells = append(c.cells, from.cells[i])
		}
		out.columns = append(out.columns, c)
	}
	return out.breakHeadings()
}

// shorten cuts the widest texts until s is no wider than width or all texts are no wider than minText.
func (s terminalTable) shorten(width int) terminalTable {
	s.columns = slices.Clone(s.columns)
	for s.width() > width {
		most, widestText, at := minText, 0, -1
		for j, c := range s.columns {
			w := widest(c.cells...)
			weight := w
			if j == 0 {
				weight = max(minText+1, w/2) // of the names of rows
			}
			if c.left && w > minText && weight > most && w > widest(c.heading) {
				most, widestText, at = weight, w, j
			}
		}
		if at < 0 {
			return s
		}
		cells := slices.Clone(s.columns[at].cells)
		for i, v := range cells {
			cells[i] = shortenTo(v, widestText-1)
		}
		s.columns[at].cells = cells
	}
	return s
}

// shortenTo shortens a text to a width. It cuts names in the middle, because their ends distinguish them, and texts
// of several words at the end.
func shortenTo(s string, width int) string {
	if widest(s) <= width {
		return s
	}
	runes := []rune(strings.ReplaceAll(s, "…", ""))
	for n := len(runes) - 1; n > 0; n-- {
		start := n
		if !strings.Contains(s, " ") {
			start = n / 2
		}
		if short := string(runes[:start]) + "…" + string(runes[len(runes)-(n-start):]); twwidth.Width(short) <= width {
			return short
		}
	}
	return "…"
}

// Wrap breaks a text between words into lines no wider than width. Longer words stay whole.
func Wrap(s string, width int) (lines []string) {
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && twwidth.Width(lines[n-1])+1+twwidth.Width(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
