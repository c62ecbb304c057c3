package mat

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"torchpe/data/array"
)

// Entry describes a variable that has not been read.
type Entry struct {
	Name  string
	Shape []int // as MATLAB's size shows it; nil for objects such as tables, whose shape is known to MATLAB only
	// Class is what MATLAB's class shows ("double", "int8", "logical", "char", "cell", "struct", "function_handle", "table"),
	// after "sparse " or "complex " or both where it is so stored.
	Class string
}

// Read reads all variables of the .mat file at path that are real numbers or logicals, in the order in which they lie in it.
// Variables of other kinds are left out; a file with none but these is an error, which names them.
func Read(path string) ([]array.Array, error) {
	var as []array.Array
	err := inFile(path, func(f *file) (err error) {
		as, err = f.readAll()
		return err
	})
	return as, err
}

// ReadVariable reads the variable that the .mat file at path calls name, or, with a name such as s.a or s.a.b, the field of
// a struct that is a single one (1x1). The array has the name that was asked for.
func ReadVariable(path, name string) (array.Array, error) {
	var a array.Array
	err := inFile(path, func(f *file) (err error) {
		a, err = f.read(name)
		return err
	})
	return a, err
}

// List returns what the .mat file at path holds, in its order, without reading numbers. It names variables of every class,
// those that cannot be read among them; of those that can it checks the size.
func List(path string) ([]Entry, error) {
	var entries []Entry
	err := inFile(path, func(f *file) error {
		for _, v := range f.variables {
			entries = append(entries, Entry{Name: v.name, Shape: v.shape, Class: v.className()})
		}
		return nil
	})
	return entries, err
}

// inFile calls do with what the file at path holds, which stays open meanwhile, and names the file in errors.
func inFile(path string, do func(*file) error) error {
	// Looked at before it is opened: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("mat: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("mat: %s: not a regular file (%s)", path, info.Mode())
	}
	r, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("mat: %w", err)
	}
	defer r.Close()
	if info, err = r.Stat(); err != nil {
		return fmt.Errorf("mat: %w", err)
	}
	f, err := newFile(r, info.Size())
	if err == nil {
		err = do(f)
	}
	if err != nil {
		return fmt.Errorf("mat: %s: %w", path, err)
	}
	return nil
}

// readAll reads the variables that are real numbers.
func (f *file) readAll() ([]array.Array, error) {
	var as []array.Array
	for i := range f.variables {
		v := &f.variables[i]
		if !v.real() {
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
		return nil, fmt.Errorf("holds no variable of real numbers; it holds %s (ReadVariable says what to do)", f.names())
	}
	return as, nil
}

// read reads the variable or the field of a struct called name.
func (f *file) read(name string) (array.Array, error) {
	var in *variable // the one with the longest name, where names have dots
	var fields string
	for i := range f.variables {
		v := &f.variables[i]
		if rest, ok := within(name, v.name); ok && (in == nil || len(v.name) > len(in.name)) {
			in, fields = v, rest
		}
	}
	if in != nil {
		return f.readVariable(in, fields, name)
	}
	if len(f.variables) == 0 {
		return array.Array{}, fmt.Errorf("holds no variable %s, and no other", clip(name))
	}
	return array.Array{}, fmt.Errorf("holds no variable %s; it holds %s", clip(name), f.names())
}

// readVariable reads v, or where fields is not empty, the field of it that fields leads to, which may be one of a field.
func (f *file) readVariable(v *variable, fields, name string) (array.Array, error) {
	a, fields, err := f.numbers(v, fields)
	if err != nil {
		if fields != "" {
			name = strings.TrimSuffix(name, "."+fields) // how far it came
		}
		return array.Array{}, fmt.Errorf("variable %s: %w", clip(name), err)
	}
	a.Name = name
	return a, nil
}

// check reads the checksum of a compressed variable that is left out: it may be damage that made it look like one.
func (f *file) check(v *variable) error {
	if !v.packed {
		return nil
	}
	s, err := f.open(v)
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		return fmt.Errorf("variable %s: %w (ReadVariable reads the others)", clip(v.name), err)
	}
	return nil
}

// numbers reads what fields leads to. With an error it returns the fields that it did not get into.
func (f *file) numbers(v *variable, fields string) (array.Array, string, error) {
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

// chunk is how many bytes are read at once, a multiple of every type's size; carefully is the room in numbers that is made
// before the first of a compressed array has come.
const (
	chunk     = 1 << 16
	carefully = 1 << 16
)

// array reads the numbers after a header.
func (s *stream) array(h *header) (array.Array, error) {
	if h.class == classStruct {
		return array.Array{}, s.structError(h)
	}
	if !h.real() {
		return array.Array{}, h.unreadable()
	}
	if h.void {
		return array.Array{Shape: h.shape, Data: []float64{}}, nil
	}
	d, err := s.data(h)
	if err != nil {
		return array.Array{}, err
	}
	room := d.count
	if s.packed {
		room = min(room, carefully)
	}
	data := make([]float64, 0, room)
	buffer := make([]byte, min(d.count, chunk/d.number.bytes)*d.number.bytes)
	for len(data) < d.count {
		b := buffer[:min(len(buffer), (d.count-len(data))*d.number.bytes)]
		if got, err := io.ReadFull(d.element, b); err != nil {
			return array.Array{}, s.ended(err, "numbers", d.element.size, int64(len(data)*d.number.bytes+got))
		}
		if data, err = s.decode(data, b, h, d.number); err != nil {
			return array.Array{}, err
		}
	}
	if err := s.pass(d.element); err != nil {
		return array.Array{}, err
	}
	if s.left > 0 {
		return array.Array{}, fmt.Errorf("%d bytes follow its numbers: could the file be damaged?", s.left)
	}
	return array.Array{Shape: h.shape, Data: array.FromColumnMajor(data, h.shape)}, nil
}

// decode appends the numbers in b to data.
func (s *stream) decode(data []float64, b []byte, h *header, n number) ([]float64, error) {
	for ; len(b) > 0; b = b[n.bytes:] {
		v, err := n.get(b, s.order)
		if err == nil {
			err = h.holds(v)
		}
		if err != nil {
			return nil, fmt.Errorf("the element at index %v of the %s array %w", index(len(data), h.shape), h.className(), err)
		}
		data = append(data, v)
	}
	return data, nil
}

// index returns the place in an array of the i-th element of its file, counted from 0.
func index(i int, shape []int) []int {
	index := make([]int, len(shape))
	for axis := range index {
		index[axis] = i % shape[axis]
		i /= shape[axis]
	}
	return index
}
