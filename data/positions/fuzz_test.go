package positions

import (
	"testing"

	"torchpe/data/array/text"
	"torchpe/internal/expect"
)

// FuzzRead checks any body: an error, or places that are a permutation and hold the invariants.
func FuzzRead(f *testing.F) {
	for _, body := range []string{"0\n1\n", "a,0,1\nb,1,1\n", "a,b\nb,c,2\n", ring(4),
		"from to\n1 2\n", "from to", "x,y\n1e300,2\n", "id,x\n1,2\n"} {
		f.Add(body, "")
		f.Add(body, "edges")
		f.Add(body, "grid")
	}
	f.Fuzz(func(t *testing.T, body, as string) {
		form, err := ParseForm(as)
		if err != nil || len(body) > 1<<12 {
			return
		}
		path := expect.File(t, "p.csv", body)
		var file *File
		expect.AllocationsAtMost(t, justified(body), func() { file, err = Read(path, form, text.Auto) })
		if err != nil {
			return
		}
		own := file.Own()
		if own.Count > 1<<10 {
			return
		}
		p, err := file.Place(own)
		if err != nil {
			return
		}
		seen := make([]bool, own.Count)
		for _, at := range p.Index {
			if seen[at] {
				t.Fatalf("place %d twice", at)
			}
			seen[at] = true
		}
		if len(p.Index) != own.Count || len(p.How) == 0 {
			t.Fatalf("%+v", p)
		}
	})
}

// justified returns how many bytes reading may allocate: a token's name of two bytes becomes a name,
// a key of a map and numbers, in rooms that double.
func justified(body string) int { return 128*len(body) + 64<<10 }
