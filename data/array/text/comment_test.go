package text

import (
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// numpy.savetxt(header=...) writes the names of columns as a comment above the numbers.
func TestCommentedHeaders(t *testing.T) {
	for _, c := range []struct {
		file, text    string
		columns, rows []string
	}{
		{"a.csv", "# a,b,c\n1,2,3.5\n4,5,6\n", []string{"a", "b", "c"}, nil},
		{"a.csv", "# by hand\n# a,b,c\n1,2,3.5\n4,5,6\n# end\n", []string{"a", "b", "c"}, nil},
		{"a.csv", "% a;b;c\n1;2;3.5\n4;5;6\n", []string{"a", "b", "c"}, nil},
		{"a.txt", "# a b c\n1 2 3.5\n4 5 6\n", []string{"a", "b", "c"}, nil},
		{"a.csv", "# a b c\n1 2 3.5\n4 5 6\n", []string{"a", "b", "c"}, nil}, // no delimiter was given
		{"a.csv", "1 2 3.5\n4 5 6\n", nil, nil},
		{"a.tsv", "#id\ta\tb\tc\nr1\t1\t2\t3.5\nr2\t4\t5\t6\n", []string{"a", "b", "c"}, []string{"r1", "r2"}},
		{"a.csv", "# 2001,2002,2003\n1,2,3.5\n4,5,6.5\n", []string{"2001", "2002", "2003"}, nil},
		{"a.csv", "# a,b\n1,2,3.5\n4,5,6\n", nil, nil},
		{"a.csv", "# 7,8,9\n1,2,3.5\n4,5,6\n", nil, nil}, // a row that was taken out
		{"a.txt", "# Made by hand.\n1 2 3.5\n4 5 6\n", nil, nil},
		{"a.1D", "# a b c\n1 2 3.5\n4 5 6\n", nil, nil},
		{"a.csv", "# a,b,c\nx,y,z\n1,2,3.5\n4,5,6\n", []string{"x", "y", "z"}, nil},
	} {
		got, err := Parse(strings.NewReader(c.text), c.file, Options{})
		if err != nil || !slices.Equal(got.Columns, c.columns) || !slices.Equal(got.Rows, c.rows) ||
			got.Shape[0] != 2 || !slices.Equal(got.Data[:3], []float64{1, 2, 3.5}) ||
			got.Commented != (c.columns != nil && c.columns[0] != "x") {
			t.Errorf("%s, %q: %+v, %v", c.file, c.text, got, err)
		}
	}
}

// With Header Yes, the first line has the names if it looks like it, whatever a comment above it holds.
func TestCommentsAboveAHeader(t *testing.T) {
	fractions := strings.Repeat("0.5,2.5,3.5\n4.5,5.5,6.5\n", 20)
	for text, columns := range map[string][]string{
		"# exported,by,me\n11,12,13\n" + fractions: {"11", "12", "13"},
		"# a,b,c\nx,y,z\n" + fractions:             {"x", "y", "z"},
		"# a,b,c\n" + fractions:                    {"a", "b", "c"},
	} {
		got, err := Parse(strings.NewReader(text), "a.csv", Options{Header: Yes})
		if err != nil || !slices.Equal(got.Columns, columns) {
			t.Errorf("%.30q: %+v, %v", text, got, err)
		}
	}
	_, err := Parse(strings.NewReader("# a,b,c\n7,8,9\n"+fractions[:36]), "a.csv", Options{Header: Yes})
	expect.Error(t, err, "a.csv:1:1: this comment and the line below both may name the columns")
}

// A row whose name begins as comments do is not left out.
func TestNamesLikeComments(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"name,x,y\na,1,2\n#b,3,4\nc,5,6\n", "x.csv:3:1: "},
		{"name,x,y\n#b,3,4\nc,5,6\n", "x.csv:2:1: "},
		{"#b,3,4\nc,5,6\nd,7,8\n", "x.csv:1:1: "},
		{"name,x,y\na,1,2\n%b,3,\nc,5,6\n", "x.csv:3:1: "},
		{"name,x,y\na,1,2\n#b\n#b,3\n# b, or c, d\nc,5,6\n", ""},
		{"name,x,y\na,1,2\n\"#b\",3,4\n", ""},
		{"x,y\n1,2\n#3,4\n5,6\n", ""},
	} {
		got, err := Parse(strings.NewReader(c.text), "x.csv", Options{})
		switch {
		case c.want == "" && (err != nil || got.Shape[0] != 2):
			t.Errorf("%q: %+v, %v", c.text, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want+`"`) ||
			!strings.Contains(err.Error(), "put quotes around its name")):
			t.Errorf("%q: %+v, %v, want %s", c.text, got, err, c.want)
		}
	}
}

// What would be read as something else is refused where it stands: integers that a float64 cannot hold,
// names in another encoding, commas within numbers, and rows that would lose a cell.
func TestCellsThatWouldChange(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a,b\n1,9007199254740993\n", "x.csv:2: cell 2 is \"9007199254740993\", beyond 2^53"},
		{"a,b\n1,-9007199254740993\n", "x.csv:2: cell 2 "},
		{"a,b\n1,100000000000000000000\n", "x.csv:2: cell 2 "},
		{"a,b\n09007199254740992,1\n2,-9007199254740992\n3,9007199254740993.0\n4,1e20\n5,Inf\n6,\n", ""},
		{"a,pr\xe9c\n1,2\n", "x.csv:1:5: the name \"pr\\xe9c\": byte 0xe9 is not UTF-8 ('é' in Latin-1)"},
		{"a,\"pr\xe9c\"\n1,2\n", "x.csv:1:6: "}, {"r\xe9gion,a\nx,2\n", "x.csv:1:2: "},
		{"name,a\nx,1\npr\xe9c,2\n", "x.csv:3:3: "}, {"# a,b\xed\xa0\x80\n1,2\n", "x.csv:1:6: "},
		{"# degr\xe9s\na,b\n1,2\n", ""}, {"a,é\n1,2\n", ""},
		// Commas within numbers.
		{"1,05\n2,5\n", `x.csv:1: cell 2 is "05", behind "1" and a comma: write decimals with a point`},
		{"1,234\n-5,000\n", `x.csv:2: cell 2 is "000", behind "-5"`},
		{"x,y\n0,0123,1,5\n", "x.csv:2: cell 3, "},
		{"001,002\n003,004\n", ""}, {"id,code\ns,05\n", ""}, {"year,month\n2020,05\n", ""},
		{"x\n0,05\n", "x.csv:2: cell 2 "}, {"1.5,05\n", ""}, {"1,\"05\"\n", ""}, {"1,0\n0,0\n", ""},
		// A header with a cell less than the rows, as R writes it, or something else.
		{"a,b\n1,2.5,3\n2,4,5\n", ""}, {"a,b\nx,1,2\nx,1,2\n", ""}, {"a\n\"1\",5\n\"2\",7\n", ""},
		{"a,b\n1,2,\n3,4,\n", "x.csv:1: it names 2 columns, and the rows have 3 cells, and their last cells are"},
		{"a,b\n0.5,2,3\n1.5,2,3\n", "and the first cells, such as \"0.5\", name no rows"},
		{"a,b\n1,2,3\n1,2,3\n", "name no rows"},
		{"x\n1,5\n2,5\n", "it names 1 column, and the rows have 2 cells, which may be decimal commas"},
		{"// note\n1.5,2\n", "name no rows"},
		// A column without a name, a row of Excel's errors.
		{",,a\n1,0,2\n1,1,3\n", "x.csv:1:1: column 1 has no name"}, {"a,b,\n1,2,\n", "column 3 has no name"},
		{"a,b\n#N/A,2\n3,4\n", ""}, {"a,b\n1,2\n#DIV/0!,4\n", "x.csv:3: cell 1 "},
		// Other separators than those of the first line.
		{"a b\n1 2\n", "x.csv:2: cell 1 is \"1 2\": blanks stand between its numbers"},
		{"a,b\n1\t2\n", `x.csv:2: cell 1 is "1\t2": line 1 has commas between cells, and this line tabs`},
		{"a,b,c\n1 2 3\n", "line 1 has commas between cells, and this line blanks: use one of them"},
		{"1,5 2,5 3,5\n", `x.csv:1:3: the first line has cells such as "5 2" between its commas: with`},
		{"a,b,c\n1,5 2,5 3,5\n", `x.csv:2: cell 2 is "5 2": write decimals with a point, and`},
	} {
		_, err := Parse(strings.NewReader(c.text), "x.csv", Options{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

// A row of nothing but tabs between rows with tabs is a row of empty cells.
func TestRowsOfTabs(t *testing.T) {
	for text, want := range map[string]string{
		"1.5\t2\t3\n\t\t\n4\t5\t6\n": "x.txt:2:1: nothing but tabs", "a\tb\nx\t1\ny\t2\n": "",
		"1.5\t2\t3\n\t\n4\t5\t6\n": "", "1.5\t2\n3\t4\n\n": "",
	} {
		_, err := Parse(strings.NewReader(text), "x.txt", Options{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
