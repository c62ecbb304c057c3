package cifti

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// FuzzRead checks any bytes: no panic, and what is accepted keeps the package's invariants.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.nii*"))
	if err != nil || len(files) < 15 {
		f.Fatalf("%d files in testdata (%v)", len(files), err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		expect.NoError(f, err)
		f.Add(b)
	}
	for _, test := range hostile {
		if len(test.file) < 4096 {
			f.Add(test.file)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		var m *Image
		var err error
		expect.AllocationsAtMost(t, justified(file), func() { m, err = readBytes(file) })
		if err == nil {
			checkInvariants(t, m)
		}
	})
}

// FuzzXML checks any text in an otherwise good file of 3 x 2 numbers, or of 2 x 2.
func FuzzXML(f *testing.F) {
	for _, test := range hostile {
		if _, text, ok := bytes.Cut(test.file, []byte("<CIFTI")); ok && len(text) < 4096 {
			f.Add("<CIFTI"+string(bytes.TrimRight(text, "\x00")), true)
		}
	}
	f.Add(good().xml, true)
	f.Add(wrap(mapOf("0,1", "BRAIN_MODELS", volume234, surfaceModel("L", 1, 1, "8"),
		voxelModel("T", 0, 1, "1 2 3"))), false)
	f.Add(wrap(mapOf("1", "LABELS", "<NamedMap/>"),
		mapOf("0", "LABELS", "<NamedMap><MapName>a</MapName><MetaData/><LabelTable>"+
			labelThree+"</LabelTable></NamedMap>")), false)
	f.Fuzz(func(t *testing.T, text string, three bool) {
		s := good()
		s.xml = text
		if !three {
			s.dims[0] = 2
		}
		file := s.build()
		var m *Image
		var err error
		expect.AllocationsAtMost(t, justified(file), func() { m, err = readBytes(file) })
		if err != nil {
			return
		}
		checkInvariants(t, m)
		again, err := readBytes(zipped(s.build()))
		if err != nil || !slices.Equal(again.Data.Data, m.Data.Data) {
			t.Fatalf("compressed: %v", err)
		}
	})
}

// justified returns how many bytes reading may allocate: those of a plain file's hostile tests;
// of a compressed one 8 for each byte that comes out of deflate, in rooms that double, and the constant
// of its reader.
func justified(file []byte) int {
	if bytes.HasPrefix(file, []byte{0x1f, 0x8b}) {
		return 2*8*array.MaxInflate*len(file) + 1<<20
	}
	return 8*len(file) + 256<<10
}

// checkInvariants checks what the package's comment promises of an image that was read.
func checkInvariants(t *testing.T, m *Image) {
	t.Helper()
	shape := []int{m.Axes[1].Length, m.Axes[0].Length}
	if err := m.Data.Check(); err != nil || !slices.Equal(m.Data.Shape, shape) ||
		len(m.Data.Data) == 0 {
		t.Fatalf("data of shape %d: %v", m.Data.Shape, err)
	}
	for _, a := range m.Axes {
		n := map[AxisKind]int{Series: a.Length, Parcels: len(a.Parcels), Scalars: len(a.Maps),
			Labels: len(a.Maps)}[a.Kind]
		for _, model := range a.Models {
			if model.Offset != n || model.Count < 1 ||
				len(model.Vertices)+len(model.Voxels) != model.Count {
				t.Fatalf("model %+v at %d", model, n)
			}
			n += model.Count
		}
		if n != a.Length {
			t.Fatalf("axis %s of %d has %d elements", a.Kind, a.Length, n)
		}
		names := map[string]bool{}
		seen := map[grayordinate]bool{}
		once := func(g grayordinate) {
			if seen[g] || g.ijk[0] < 0 || g.ijk[1] < 0 || g.ijk[2] < 0 {
				t.Fatalf("%s twice or negative", g)
			}
			seen[g] = true
		}
		for _, p := range a.Parcels {
			if names[p.Name] {
				t.Fatalf("parcel %q twice", p.Name)
			}
			names[p.Name] = true
			for _, v := range p.Vertices {
				for _, i := range v.Index {
					once(grayordinate{"surface of " + v.Structure, [3]int32{i}})
				}
			}
			for _, v := range p.Voxels {
				once(grayordinate{ijk: v})
			}
		}
		for _, model := range a.Models {
			for _, v := range model.Vertices {
				once(grayordinate{"surface of " + model.Structure, [3]int32{v}})
			}
			for _, v := range model.Voxels {
				once(grayordinate{ijk: v})
			}
		}
	}
}
