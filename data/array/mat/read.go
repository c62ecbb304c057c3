package mat

import (
	"strings"

	"torchpe/data/array"
)

// Entry describes a variable that has not been read.
type Entry struct {
	Name string
	// Shape is MATLAB's size; nil for objects such as tables, whose shape only MATLAB knows.
	Shape []int
	// Class holds what MATLAB's class shows ("double", "int8", "logical", "char", "cell", "struct",
	// "function_handle", "table"), after "sparse " or "complex " or both where it is so stored.
	Class string
}

// ReadVariable reads the variable that the .mat file at path calls name, or, with a name such as
// s.a or s.a.b, the field of a struct that is a single one (1x1). The array has the name that was
// asked for.
func ReadVariable(path, name string) (array.Array, error) {
	return inFile(path, func(f *file) array.Array { return f.read(name) })
}

// List returns what the .mat file at path holds, in its order, without reading numbers. It names
// variables of every class, those that cannot be read among them; of those that can it checks the
// size.
func List(path string) ([]Entry, error) {
	return inFile(path, func(f *file) (entries []Entry) {
		for _, v := range f.variables {
			entries = append(entries, Entry{Name: v.name, Shape: v.shape, Class: v.className()})
		}
		return entries
	})
}

// inFile opens the .mat file at path, calls use and closes the file.
func inFile[T any](path string, use func(*file) T) (T, error) {
	return array.InFile("mat", path, func(r *array.File) (T, error) {
		return use(newFile(r, r.Size())), nil
	})
}

// read reads the variable or the field of a struct called name.
func (f *file) read(name string) array.Array {
	of, fields, _ := strings.Cut(name, ".")
	if v := f.variable(of); v != nil && !strings.HasSuffix(name, ".") {
		return f.readVariable(v, fields, name)
	}
	f.failWithout(name)
	return array.Array{}
}

// readVariable reads v, or where fields is not empty, the field of it that fields leads to, which
// may be one of a field.
func (f *file) readVariable(v *variable, fields, name string) array.Array {
	a, err := array.Try(func() array.Array { return f.numbers(v, &fields) })
	if err != nil {
		if fields != "" {
			name = strings.TrimSuffix(name, "."+fields) // how far it came
		}
		array.Failf("variable %s: %w", array.Quote(name), err)
	}
	a.Name = name
	return a
}

// numbers reads a variable or, of a struct, the field that fields names, such as a.b. It removes from
// fields each name that it has found.
func (f *file) numbers(v *variable, fields *string) array.Array {
	s := f.open(v)
	h := s.header()
	for *fields != "" {
		h = s.field(h, fields)
	}
	a := s.array(h)
	s.finish()
	return a
}

// array reads the numbers after a header.
func (s *stream) array(h *header) array.Array {
	if h.class == classStruct {
		s.failStruct(h)
	}
	if !h.isReal() {
		array.Fail(h.unreadable())
	}
	if h.void {
		return array.Array{Shape: h.shape, Data: []float64{}}
	}
	var data []float64
	if h.class == classSparse {
		data = s.sparse(h)
	} else {
		data = s.dense(h)
	}
	if s.left > 0 {
		array.FailDamaged("%d bytes follow its numbers", s.left)
	}
	return array.Array{Shape: h.shape, Data: data}
}

// dense reads the numbers of a matrix.
func (s *stream) dense(h *header) []float64 {
	d := s.data(h)
	numbers := array.Numbers{Shape: h.shape, Bytes: d.number.Bytes, Columns: true, Type: h.className(),
		Decode: func(b []byte) (float64, error) {
			v, err := d.number.Exact(b, s.order)
			if err == nil {
				err = h.checkClass(v)
			}
			return v, err
		},
	}
	data := array.Got(numbers.Read(d.element, s.budget))
	s.pass(d.element)
	return data
}

// sparse reads the numbers of a sparse matrix, which follow their rows and where each column begins,
// and puts zeros between them.
func (s *stream) sparse(h *header) []float64 {
	m := array.Sparse{Shape: h.shape}
	m.Rows = s.dense(&header{class: classDouble})
	m.Starts = s.dense(&header{class: classDouble})
	values := &header{class: classDouble}
	if len(m.Starts) > 0 {
		values.logical, values.least = h.logical, int64(m.Starts[len(m.Starts)-1])
	}
	m.Values = s.dense(values)
	return array.Got(m.Full(s.budget))
}
