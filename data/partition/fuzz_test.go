package partition

import (
	"testing"

	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// FuzzParse checks any body: no panic, and a label for every token, of a module that there is.
func FuzzParse(f *testing.F) {
	for _, body := range []string{
		"1\n2\n", "a,1\nb,2\n", "INDEX\tLABEL\tNETWORK\n1\tx\ty\n", "name\tmodule\na\tx\n",
		"a;1\nb;2\n", "nan\n", "1\n1.0\n01\n", "\ufeff1\r\n2\r1\n", "# x\n\"a\",\"b\"\n", "1 2\n3 4\n",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		path := expect.File(t, "p.txt", body)
		var p *Partition
		var err error
		expect.AllocationsAtMost(t, justified(body), func() { p, err = Read(path, text.Auto) })
		if err != nil {
			return
		}
		if len(p.Labels) == 0 {
			t.Fatal("no tokens and no error")
		}
		for _, names := range p.Names {
			if len(names) != len(p.Labels) {
				t.Fatalf("%d names of %d tokens", len(names), len(p.Labels))
			}
		}
		m := expect.Must(p.Match(Tokens{Count: len(p.Labels), File: "y"}))
		for _, l := range m.Labels {
			if l < 0 || l >= len(m.Modules) {
				t.Fatalf("label %d of %d modules", l, len(m.Modules))
			}
		}
	})
}

// justified returns how many bytes reading may allocate: a line of two bytes becomes a list of one
// name, a key of a map and a label, in rooms that double.
func justified(body string) int { return 160*len(body) + 64<<10 }
