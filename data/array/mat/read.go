package mat

import (
	"fmt"
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
	return inFile(path, func(f *file) (array.Array, error) { return f.read(name) })
}

// List returns what the .mat file at path holds, in its order, without reading numbers. It names
// variables of every class, those that cannot be read among them; of those that can it checks the
// size.
func List(path string) ([]Entry, error) {
	return inFile(path, func(f *file) (entries []Entry, err error) {
		for _, v := range f.variables {
			entries = append(entries, Entry{Name: v.name, Shape: v.shape, Class: v.className()})
		}
		return entries, nil
	})
}

// inFile opens the .mat file at path, calls use and closes the file.
func inFile[T any](path string, use func(*file) (T, error)) (T, error) {
	return array.InFile("mat", path, func(r *array.File) (none T, err error) {
		f, err := newFile(r, r.Size())
		if err != nil {
			return none, err
		}
		return use(f)
	})
}

// read reads the variable or the field of a struct called name.
func (f *file) read(name string) (array.Array, error) {
	of, fields, _ := strings.Cut(name, ".")
	for i := range f.variables {
		if v := &f.variables[i]; v.name == of && !strings.HasSuffix(name, ".") {
			return f.readVariable(v, fields, name)
		}
	}
	if len(f.variables) == 0 {
		return array.Array{}, fmt.Errorf("holds no variable %s, and no other", array.Quote(name))
	}
	return array.Array{}, fmt.Errorf("holds no variable %s; it holds %s", array.Quote(name),
		f.names())
}

// readVariable reads v, or where fields is not empty, the field of it that fields leads to, which
// may be one of a field.
func (f *file) readVariable(v *variable, fields, name string) (array.Array, error) {
	a, fields, err := f.numbers(v, fields)
	if err != nil {
		if fields != "" {
			name = strings.TrimSuffix(name, "."+fields) // how far it came
		}
		return array.Array{}, fmt.Errorf("variable %s: %w", array.Quote(name), err)
	}
	a.Name = name
	return a, nil
}

// numbers reads what fields leads to. With an error it returns the fields that it did not get into.
func (f *file) numbers(v *variable, fields string) (array.Array, string, error) {
	if v.number4.Bytes != 0 {
		a, err := f.array4(v)
		if err == nil && fields != "" {
			err = fmt.Errorf("is no struct and has no field %s", array.Quote(fields))
		}
		return a, fields, err
	}
	s, err := f.open(v)
	if err != nil {
		return array.Array{}, fields, err
	}
	h, err := s.header()
	for err == nil && fields != "" {
		h, fields, err = s.field(h, fields)
	}
	var a array.Array
	if err == nil {
		a, err = s.array(h)
	}
	if err == nil {
		err = s.finish()
	}
	return a, fields, err
}

// array reads the numbers after a header.
func (s *stream) array(h *header) (array.Array, error) {
	if h.class == classStruct {
		return array.Array{}, s.structError(h)
	}
	if !h.isReal() {
		return array.Array{}, h.unreadable()
	}
	if h.void {
		return array.Array{Shape: h.shape, Data: []float64{}}, nil
	}
	var data []float64
	var err error
	if h.class == classSparse {
		data, err = s.sparse(h)
	} else {
		data, err = s.dense(h)
	}
	if err != nil {
		return array.Array{}, err
	}
	if s.left > 0 {
		return array.Array{}, array.Damaged("%d bytes follow its numbers", s.left)
	}
	return array.Array{Shape: h.shape, Data: data}, nil
}

// dense reads the numbers of a matrix.
func (s *stream) dense(h *header) ([]float64, error) {
	d, err := s.data(h)
	if err != nil {
		return nil, err
	}
	numbers := array.Numbers{Shape: h.shape, Bytes: d.number.Bytes, Columns: true, Type: h.className(),
		Decode: func(b []byte) (float64, error) {
			v, err := d.number.Exact(b, s.order)
			if err == nil {
				err = h.checkClass(v)
			}
			return v, err
		},
	}
	data, err := numbers.Read(d.element, s.budget)
	if err != nil {
		return nil, err
	}
	return data, s.pass(d.element)
}

// sparse reads the numbers of a sparse matrix, which follow their rows and where each column begins,
// and puts zeros between them.
func (s *stream) sparse(h *header) ([]float64, error) {
	m := array.Sparse{Shape: h.shape}
	for _, into := range []*[]float64{&m.Rows, &m.Starts, &m.Values} {
		part := &header{class: classDouble}
		if into == &m.Values && len(m.Starts) > 0 {
			part.logical, part.least = h.logical, int64(m.Starts[len(m.Starts)-1])
		}
		var err error
		if *into, err = s.dense(part); err != nil {
			return nil, err
		}
	}
	return m.Full(s.budget)
}
