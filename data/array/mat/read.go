package mat

import (
	"errors"
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

// Read reads all variables of the .mat file at path that are real numbers or logicals, in the order
// in which they lie in it. Variables of other kinds are left out; a file with none but these is an
// error, which names them.
func Read(path string) ([]array.Array, error) {
	return inFile(path, (*file).readAll)
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

// inFile returns what use makes of the .mat file at path.
func inFile[T any](path string, use func(*file) (T, error)) (T, error) {
	return array.InFile("mat", path, func(r *array.File) (none T, err error) {
		f, err := newFile(r, r.Size())
		if err != nil {
			return none, err
		}
		return use(f)
	})
}

// readAll reads the variables that are real numbers.
func (f *file) readAll() ([]array.Array, error) {
	var as []array.Array
	for i := range f.variables {
		v := &f.variables[i]
		if !v.isReal() {
			if err := f.check(v); err != nil {
				return nil, err
			}
			continue
		}
		a, err := f.readVariable(v, "", v.name)
		if err != nil && len(f.variables) > 1 {
			err = fmt.Errorf("%w (ReadVariable reads the others)", err)
		}
		if err != nil {
			return nil, err
		}
		as = append(as, a)
	}
	for i := range f.unnamed {
		if err := f.check(&f.unnamed[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case len(f.variables) == 0:
		return nil, errors.New("holds no variables")
	case len(as) == 0:
		return nil, fmt.Errorf("holds no variable of real numbers; it holds %s (ReadVariable "+
			"says what to do)", f.names())
	}
	return as, nil
}

// read reads the variable or the field of a struct called name.
func (f *file) read(name string) (array.Array, error) {
	var in *variable // the one with the longest name, where names have dots
	var fields string
	for i := range f.variables {
		v := &f.variables[i]
		if rest, ok := cutPath(name, v.name); ok && (in == nil || len(v.name) > len(in.name)) {
			in, fields = v, rest
		}
	}
	if in != nil {
		return f.readVariable(in, fields, name)
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

// check reads the checksum of a compressed variable that is left out: it may be damage that made it
// look like one.
func (f *file) check(v *variable) error {
	if !v.packed {
		return nil
	}
	s, err := f.open(v)
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return fmt.Errorf("variable %s: %w (ReadVariable reads the others)", array.Quote(v.name),
			err)
	}
	return nil
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
		return array.Array{}, fmt.Errorf("%d bytes follow its numbers: could the file be damaged?",
			s.left)
	}
	return array.Array{Shape: h.shape, Data: data}, nil
}

// dense reads the numbers of a matrix.
func (s *stream) dense(h *header) ([]float64, error) {
	d, err := s.data(h)
	if err != nil {
		return nil, err
	}
	numbers := array.Numbers{Shape: h.shape, Bytes: d.number.Bytes, Columns: true,
		Decode: func(i int, b []byte) (float64, error) { return s.decode(i, b, h, d.number) },
		Ended:  func(err error, got int64) error { return s.ended(err, "numbers", d.element.size, got) },
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

// decode returns the i-th number.
func (s *stream) decode(i int, b []byte, h *header, n array.Number) (float64, error) {
	v, err := n.Exact(b, s.order)
	if err == nil {
		err = h.checkClass(v)
	}
	if err != nil {
		err = fmt.Errorf("the element at index %v of the %s array %w", array.Index(i, h.shape, true),
			h.className(), err)
	}
	return v, err
}
