package lst

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// FuzzRead checks any text: an error that names the file, or puzzles that come back the same when
// they are written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(head + line))
	f.Add([]byte("\ufeff" + strings.ReplaceAll(head+line+line, "\n", "\r\n")))
	f.Add([]byte("solutions,puzzles,condition\n\"4\",1532000000000000,Binary\n"))
	f.Add([]byte(head + "0,,Ternary,1531000000000000,4\n1,,,,\n\x00"))
	f.Add([]byte(head + strings.Repeat("9", 4096)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var ps []Puzzle
		var err error
		path := expect.File(t, "fuzz.csv", string(text))
		expect.AllocationsAtMost(t, justified(text), func() { ps, err = ReadFile(path) })
		if err != nil {
			if ps != nil || !strings.Contains(err.Error(), "fuzz.csv") {
				t.Fatalf("%d puzzles with the error %v", len(ps), err)
			}
			return
		}
		// What was read can be written, and comes back.
		var b bytes.Buffer
		expect.NoError(t, writeSet(&b, ps))
		back, err := readText(t, b.String())
		if err != nil || !slices.Equal(back, ps) {
			t.Fatalf("%v came back as %v, %v", ps, back, err)
		}
		for _, p := range ps {
			_ = p.Verify() // must not panic
		}
	})
}

// justified returns how many bytes reading may allocate: of a line of two bytes, its text and what
// is wrong with it.
func justified(text []byte) int { return 128*len(text) + 64<<10 }
