package series

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// A column that counts frames is told apart from tokens where their number is known, and otherwise
// noted.
func TestIndexColumn(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    func(row int) any
		index bool
	}{
		{"time", func(row int) any { return 0.72 * float64(row) }, true},
		{"Unnamed: 0", func(row int) any { return row }, true},
		{"Index", func(row int) any { return 100 - 1/float64(row+1) }, true},
		{"k", func(row int) any { return row + 1 }, true},
		{"Subject", func(row int) any { return 7 + row/3 }, true},
		{"Zeit", func(row int) any { return 0.72 * float64(row+9) }, true},
		{"k", func(row int) any { return row * row }, false},
		{"time", func(row int) any { return row % 4 }, true}, // of two runs
		{"time", func(row int) any { return row % 2 }, false},
		{"id", func(row int) any { return []int{5, 9, 2, 7, 1}[row] }, true},
		{"id", func(row int) any { return []int{5, 9, 2, 7, 5}[row] }, false},
		{"subject_id", func(row int) any { return []int{3, 1, 2, 3, 1}[row] }, true},
		{"diagnosis", func(row int) any { return row % 2 }, true},
		{"Network", func(row int) any { return row % 2 }, true},
		{"cluster", func(row int) any { return float64(row) + .5*float64(row%2) }, false},
		{"condition", func(row int) any { return float64(row%2) + .5 }, false},
		{"run", func(row int) any { return []float64{3, 1.5, 2, 3, 1}[row] }, false},
		{"sensor", func(row int) any { return []float64{5, 9.5, 2, 7, 1}[row] }, false},
	} {
		text := strings.Builder{}
		fmt.Fprintf(&text, "%s,a,b\n", c.name)
		for row := range 5 {
			fmt.Fprintf(&text, "%v,%d,%d\n", c.at(row), row*row%7, row%3)
		}
		path := expect.File(t, "x.csv", text.String())
		s, err := Load([]string{path}, Options{})
		if err != nil || s.Tokens != 3 || (len(s.Notes) == 1 &&
			strings.Contains(s.Notes[0], fmt.Sprintf("%q", c.name))) != c.index {
			t.Errorf("%s: %+v, %v", text.String(), s, err)
		}
		// Two tokens are expected, and three may come; but not two and an index.
		err = expect.ErrorOf(Load([]string{path}, Options{Tokens: []int{2}}))
		expect.Equal(t, fmt.Sprintf("%s: %v: leave it out", text.String(), err),
			strings.Contains(fmt.Sprint(err), "leave it out"), c.index)
		if _, err := Load([]string{path},
			Options{Tokens: []int{2}, TokensFrom: "--tokens"}); err == nil ||
			!strings.Contains(err.Error(), "If so, leave it out") &&
				!strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: %v", text.String(), err)
		}
		expect.Equal(t, text.String(),
			expect.ErrorOf(Load([]string{path}, Options{Tokens: []int{3}, TokensFrom: "--tokens"})), nil)
	}
}

// A first or last token of an array that counts is noted, too; one between them, or that does not count, is not.
func TestIndexOfArray(t *testing.T) {
	for column := range 3 {
		for _, step := range []float64{0.72, -1} {
			var data []float64
			for frame := range 100 {
				row := []float64{float64(frame * frame % 7), float64(frame % 3), float64(frame % 5)}
				row[column] = step * float64(frame)
				data = append(data, row...)
			}
			path := filepath.Join(t.TempDir(), "x.npy")
			f := expect.Must(os.Create(path))
			err := npy.Write(f, array.Array{Shape: []int{100, 3}, Data: data}, npy.Float32)
			expect.NoError(t, errors.Join(err, f.Close()))
			s := expect.Must(Load([]string{path}, Options{Axes: []Axis{FrameAxis, TokenAxis}}))
			expect.Equal(t, fmt.Sprintf("column %d, step %g: in %q", column, step, s.Notes),
				len(s.Notes) == 1 && strings.Contains(s.Notes[0], "rises in equal steps"), column != 1 && step > 0)
		}
	}
}

// A column that is called like an index or the time is noted wherever it stands; a column that counts, at
// either end.
func TestTimeColumns(t *testing.T) {
	for _, name := range []string{"timestamp", "Timestamp", "date", "Time (s)", "time_s", "Time [ms]", "year", "Years",
		"time in seconds", "datetime", "Unnamed: 3", "TR", "onset", "Elapsed", "t(s)", "frame_index", "sample no."} {
		for place := range 3 {
			columns := slices.Insert([]string{"a", "b"}, place, name)
			text := strings.Join(columns, ",") + "\n"
			for row := range 5 {
				cells := slices.Insert([]string{fmt.Sprint(row * row % 7), fmt.Sprint(row % 3)}, place,
					fmt.Sprint(1950+row/2)) // a year has several rows
				text += strings.Join(cells, ",") + "\n"
			}
			s, err := Load([]string{expect.File(t, "x.csv", text)}, Options{})
			if err != nil || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], fmt.Sprintf("column %q of", name)) {
				t.Errorf("%q: %+v, %v", text, s, err)
			}
		}
	}
	for text, noted := range map[string]bool{
		"a,b,k\n5,3,0\n2,1,1\n7,5,2\n": true, "a,k,b\n5,0,3\n2,1,1\n7,2,5\n": false,
		"timer,thalamus_t,data\n1,5,1\n2,6,2\n4,7,4\n": false, "year,a,b\n3,1,1\n2,2,4\n1,3,2\n": true,
		"year,a,b\n3,1,1\n3,2,4\n3,3,2\n": false,
	} {
		s, err := Load([]string{expect.File(t, "x.csv", text)}, Options{})
		if err != nil || len(s.Notes) == 1 != noted {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// Without a header the first and the last column are looked at, where columns are tokens.
func TestIndexWithoutHeader(t *testing.T) {
	path := expect.File(t, "x.csv", "0,0.5,1\n1,2.5,3\n2,1.5,5\n3,0.5,0\n")
	for axes, want := range map[string]string{"frames,tokens": `column "1" of`, "tokens,frames": "[]"} {
		d, err := Source{Data: []string{path}, Axes: axes}.Read(nil, false)
		if err != nil || !strings.Contains(fmt.Sprint(d.Notes), want) {
			t.Errorf("%s: %+v, %v", axes, d, err)
		}
	}
	text := "day,a,year,b\n1,0.5,2020,3\n2,2.5,2020,1\n3,0.5,2021,2\n"
	_, err := Load([]string{expect.File(t, "x.csv", text)}, Options{Tokens: []int{2}, TokensFrom: "--tokens"})
	expect.Error(t, err, `its column "day", "year" counts`)
}

// Names in both directions may be of tokens in either, where they look so; --axes decides.
func TestNamesInBothDirections(t *testing.T) {
	for text, ask := range map[string]bool{
		",0,1,2\na,1,2,3\nb,4,5,7\n": true, "gene,s1,s2,s3\na,1,2,3\nb,4,5,7\n": true,
		",2020-01-01,2020-01-02,2020-01-03\na,1,2,3\nb,4,5,7\n": true, ",2001,2002,2003\na,1,2,3\nb,4,5,7\n": true,
		"roi_id,s1,s2,s3\na,1,2,3\nb,4,5,7\n":  true,
		"subject,s1,s2,s3\na,1,2,3\nb,4,5,7\n": false, ",2101,2003,2001\na,1,2,3\nb,4,5,7\n": false,
		",0,1,2\n2020-01-01,1,2,3\n2020-01-02,4,5,7\n": false, ",0,1,2\n0,1,2,3\n1,4,5,7\n": false,
	} {
		path := expect.File(t, "x.csv", text)
		s, err := Load([]string{path}, Options{})
		if ask != (err != nil && strings.Contains(err.Error(), "--axes tokens,frames or --axes frames,tokens")) ||
			!ask && (s.Frames != 2 || len(s.Notes) != 1) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
		s, err = Load([]string{path}, Options{Axes: []Axis{FrameAxis, TokenAxis}})
		if err != nil || s.Frames != 2 || !slices.Equal(s.X, []float32{1, 2, 3, 4, 5, 7}) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
		s, err = Load([]string{path}, Options{Axes: []Axis{TokenAxis, FrameAxis}})
		if err != nil || s.Frames != 3 || len(s.Names) != 2 || !slices.Equal(s.X, []float32{1, 4, 2, 5, 3, 7}) ||
			!strings.Contains(fmt.Sprint(s.Notes), "first line of") {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

// A number that files write for a missing value, and that stands apart, is noted.
func TestMarksOfMissingNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,2\n3,-9999\n2,-9999\n": `Token 1 (b) of `, "a,b\n1,2\n999,3\n2,4\n": "is 999 in 1 frame, far",
		"a,b\n1,2\n3,1e20\n2,5\n": "is 1e+20 in 1 frame", "a,b\n1,2\n999,3\n700,1\n": "[]",
		"a,b\n1,2\n3,-9998\n2,5\n": "[]", "a,b\n999,2\n999,4\n999,5\n": "[]",
	} {
		s, err := Load([]string{expect.File(t, "x.csv", text)}, Options{})
		if err != nil || !strings.Contains(fmt.Sprint(s.Notes), want) {
			t.Errorf("%q: %+v, %v, want %s", text, s, err, want)
		}
	}
}

// Dates in front of rows are the times of frames, with names of columns or without, and no tokens.
func TestDatesInFront(t *testing.T) {
	for text, names := range map[string][]string{
		"2020-01-01,0.5,2\n2020-01-02,1.5,3\n2020-01-03,2.5,5\n":                  nil,
		"12:00:00,0.5,2\n12:00:02,1.5,3\n12:00:04,2.5,5\n":                        nil,
		",2001,2003\n2020-01-01,0.5,2\n2020-01-02,1.5,3\n2020-01-03,2.5,5\n":      {"2001", "2003"},
		"Date,2001,2003\n01/02/2020,0.5,2\n01/03/2020,1.5,3\n01/04/2020,2.5,5\n":  {"2001", "2003"},
		"# date,a,b\n2020-01-01,0.5,2\n2020-01-02T00:00Z,1.5,3\n2020-01-03,2.5,5": {"a", "b"},
	} {
		s, err := Load([]string{expect.File(t, "x.csv", text)}, Options{})
		if err != nil || s.Frames != 3 || s.Tokens != 2 || !slices.Equal(s.Names, names) ||
			!slices.Equal(s.X, []float32{0.5, 2, 1.5, 3, 2.5, 5}) || len(s.Notes) != 1 ||
			!strings.Contains(s.Notes[0], "of frames (") {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestTimesInWords(t *testing.T) {
	for _, c := range []struct {
		is    bool
		names string // between bars
	}{
		{true, "2000-01|2000/12|2000Q3|2000-Q1|Q4 1999|1 Jan 2020|01-Feb-20|Jan 01 2020|March 2020|Mon 1 10:00|12:00"},
		{true, "Monday 1|Thurs, 2|2 September 99|Dec. 2020|1 Jan 2020 10:00"},
		{false, "2000-13|MARCH1|SEPT2|SEPT-2|DEC1|Mon1|q5|V1|sun spots|may|100206|trial0|Monkey 1|Thumb 2|" +
			"Satellite 5|marker 1001|1 marker 22|Decoder-2000|1001-1"},
	} {
		for name := range strings.SplitSeq(c.names, "|") {
			expect.Equal(t, name, isTime(name), c.is)
		}
	}
	s, err := Load([]string{expect.File(t, "x.csv", "vol1,0.5,2\nvol2,1.5,3\nvol3,2.5,5\n")}, Options{})
	if err != nil || s.Tokens != 3 || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "--axes frames,tokens") {
		t.Errorf("names in front: %+v, %v", s, err)
	}
	// The axes that are given count, whatever the names look like.
	for _, names := range []string{"vol1 vol2 vol3", "2000-01 2000-02 2000-03"} {
		n := strings.Fields(names)
		file := expect.File(t, "y.csv", n[0]+",0.5,2\n"+n[1]+",1.5,3\n"+n[2]+",2.5,5\n")
		for axes, tokens := range map[string]int{"frames,tokens": 2, "tokens,frames": 3} {
			s, err := Load([]string{file}, Options{Axes: expect.Must(ParseAxes(axes))})
			if err != nil || s.Tokens != tokens {
				t.Errorf("%s by --axes %s: %+v, %v", n[0], axes, s, err)
			}
		}
	}
}

// What may be a header or a row is asked about, and --header answers.
func TestHeaderIsAskedFor(t *testing.T) {
	path := expect.File(t, "x.csv", "0,2,4\n0.5,1.5,0.25\n3.5,0.75,1.25\n")
	read := func(header text.Choice) (*Dataset, error) {
		return Source{Data: []string{path}, Tokens: 3, Axes: "frames,tokens", Header: header}.Read(nil, false)
	}
	expect.Error(t, expect.ErrorOf(read(text.Auto)), "x.csv:1:1: ", "--header yes or --header no")
	for _, heading := range []string{"channel", "region", "time"} {
		times := expect.File(t, "x.csv", heading+",0.000,0.004,0.008\na,1,2,3\nb,2,5,1\n")
		for header, tokens := range map[text.Choice]int{text.Yes: 2, text.No: 3} {
			d, err := Source{Data: []string{times}, Axes: "tokens,frames", Header: header}.Read(nil, false)
			if err != nil || len(d.Names) != tokens {
				t.Errorf("%s, %v: %v, %v", heading, header, d, err)
			}
		}
		for _, axes := range []string{"", "tokens,frames"} {
			err := expect.ErrorOf(Source{Data: []string{times}, Axes: axes}.Read(nil, false))
			expect.Error(t, err, `its first line ("`+heading+`", ...) may hold`, "--header yes or --header no")
		}
	}
	// The first numbers of a token called T do not rise as times do.
	t4 := expect.Must(Load([]string{expect.File(t, "x.csv", "T,0.3,0.1,0.2\nKEY,1,2,3\n")}, Options{}))
	expect.Equal(t, "names", t4.Names, []string{"T", "KEY"})
	d := expect.Must(read(text.Yes))
	expect.Equal(t, "frames and names", fmt.Sprintf("%d %q", d.Frames, d.Names), `2 ["0" "2" "4"]`)
	d = expect.Must(read(text.No))
	expect.Equal(t, "frames and names", [2]int{d.Frames, len(d.Names)}, [2]int{3, 0})
	for _, c := range []struct {
		body   string
		header text.Choice
		want   string
	}{
		{"name\na\nb\nc\n", text.Yes, `["a" "b" "c"]`}, {"name\na\nb\n", text.No, `["name" "a" "b"]`},
		{"name\na\nb\n", text.Auto, "--header yes or --header no"}, {"\"name\"\na\n", text.Auto, `["name" "a"]`},
		{"a\n# b\nc\n", text.Auto, `the line "# b" is a comment`}, {"a\n\"#b\"\n", text.Auto, `["a" "#b"]`},
		{"e\u0301\nb\n", text.Auto, "[\"\u00e9\" \"b\"]"},
	} {
		got, err := readNames(expect.File(t, "names.txt", c.body), c.header)
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && fmt.Sprintf("%q", got) != c.want {
			t.Errorf("%q, %v: %q, %v, want %s", c.body, c.header, got, err, c.want)
		}
	}
	// Names that begin as comments do, or have quotes or blanks at an end, come back from a folder of convert's.
	set := &Set{Frames: 3, Tokens: 2, X: []float32{1, 2, 3, 5, 4, 4}, Names: []string{"#1", "5\""},
		Runs: []Run{{Subject: "a", Frames: 3}}}
	dir := t.TempDir()
	expect.NoError(t, Folder{Dir: dir, Set: set}.Write())
	d = expect.Must(Source{Data: []string{dir}}.Read(nil, false))
	if !slices.Equal(d.Names, set.Names) || !slices.Equal(d.X, set.X) {
		t.Errorf("%q, %v", d.Names, d.X)
	}
	set.Names = []string{"\"q\"", " sp"}
	expect.NoError(t, Folder{Dir: dir, Set: set, Force: true}.Write())
	expect.Equal(t, "names", expect.Must(Source{Data: []string{dir}}.Read(nil, false)).Names, set.Names)
}
