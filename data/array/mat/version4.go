package mat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"torchpe/data/array"
)

const (
	header4   = 20 // bytes before the name of a variable
	text4     = 1  // the kinds of matrices that are not full ones of numbers
	sparse4   = 2
	machines4 = 5
)

// numbers4 are the types of numbers by the digit P of a variable's type ("MAT-File Format", version
// 4). MATLAB makes doubles of all.
var numbers4 = []array.Number{array.Float(8), array.Float(4), array.Int(4), array.Int(2),
	array.Uint(2), array.Uint(1)}

// type4 takes apart the type of a variable, a number with the decimal digits M (the machine), O (0),
// P (the type of numbers) and T (the kind of matrix).
func type4(b []byte) (order binary.ByteOrder, machine, number, kind int, ok bool) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		mopt := int(order.Uint32(b))
		machine, number, kind = mopt/1000, mopt/10%10, mopt%10
		if machine < machines4 && mopt/100%10 == 0 && number < len(numbers4) && kind <= sparse4 {
			return order, machine, number, kind, true
		}
	}
	return nil, 0, 0, 0, false
}

// isVersion4 reports whether b begins like a file of version 4. Four bytes of a version 5 header
// cannot: they are text.
func isVersion4(b []byte) bool {
	if len(b) < header4 {
		return false
	}
	_, _, _, _, ok := type4(b)
	return ok
}

// next4 reads the header of the variable at a byte of a file of version 4 and checks its size.
func (f *file) next4(at int64) variable {
	b := make([]byte, header4)
	if n, err := f.r.ReadAt(b, at); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = array.Damaged("expected a header of %d bytes, the file has %d", len(b), n)
		}
		array.Fail(err)
	}
	order, machine, number, kind, ok := type4(b)
	if !ok {
		array.FailDamaged("its type is %d, which version 4 does not have",
			int32(binary.LittleEndian.Uint32(b)))
	}
	if want := map[binary.ByteOrder]int{binary.LittleEndian: 0, binary.BigEndian: 1}[order]; machine != want {
		array.Failf("its numbers are those of a VAX or Cray (machine %d), which are "+
			"not read: load it in MATLAB and save it again with save -v7", machine)
	}
	rows, columns := int(int32(order.Uint32(b[4:]))), int(int32(order.Uint32(b[8:])))
	isComplex, nameBytes := order.Uint32(b[12:]) != 0, int64(order.Uint32(b[16:]))
	v := variable{at: at + header4 + nameBytes, number4: numbers4[number], order4: order}
	v.header = header{class: classDouble, shape: []int{rows, columns}, complex: isComplex}
	v.bytes = int64(count(v.shape, 16)) * int64(v.number4.Bytes)
	if isComplex {
		v.bytes *= 2
	}
	if nameBytes < 1 || nameBytes > maxName || v.at > f.size || v.bytes > f.size-v.at {
		array.FailDamaged("expected a name of %d bytes and %d of numbers, the file has %d",
			nameBytes, v.bytes, f.size-at-header4)
	}
	name := make([]byte, nameBytes)
	f.readAt(name, at+header4)
	end := slices.Index(name, 0)
	if end < 1 {
		array.FailDamaged("its name %s does not end", array.Quote(string(name)))
	}
	v.name = string(name[:end])
	switch kind {
	case text4:
		v.class = classChar
	case sparse4:
		f.sparse4(&v)
	}
	return v
}

// sparse4 finds the shape of a sparse matrix, which is a full one with a row for each number that is
// not zero: its row and column, from 1, and its value, in two columns where it is complex. The last
// row is the shape, with a zero for the value.
func (f *file) sparse4(v *variable) {
	rows, columns := v.shape[0], v.shape[1]
	if v.complex || rows < 1 || columns != 3 && columns != 4 {
		array.FailDamaged("a sparse matrix stored in a table of shape %v", v.shape)
	}
	v.class, v.complex = classSparse, columns == 4
	v.shape = nil
	for j := range 2 {
		b := make([]byte, v.number4.Bytes)
		f.readAt(b, v.at+int64(((j+1)*rows-1)*len(b)))
		n := v.number4.Float64(b, v.order4)
		if !(n >= 0 && n < 1<<53) || n != float64(int(n)) {
			array.FailDamaged("a sparse matrix with %v as a length", n)
		}
		v.shape = append(v.shape, int(n))
	}
}

// array4 reads a variable of a file of version 4.
func (f *file) array4(v *variable) array.Array {
	if !v.isReal() {
		array.Fail(v.unreadable())
	}
	shape := v.shape
	if v.class == classSparse {
		shape = []int{int(v.bytes) / v.number4.Bytes / 3, 3}
	}
	numbers := array.Numbers{Shape: shape, Bytes: v.number4.Bytes, Columns: true, Type: v.className(),
		Decode: func(b []byte) (float64, error) { return v.number4.Exact(b, v.order4) },
	}
	data := array.Got(numbers.Read(io.NewSectionReader(f.r, v.at, v.bytes), f.budget))
	if v.class == classSparse {
		data = f.full4(v, data)
	}
	return array.Array{Shape: v.shape, Data: data}
}

// full4 puts the numbers of a sparse matrix to their places. Those of one place are added, as MATLAB
// does.
func (f *file) full4(v *variable, table []float64) []float64 {
	what := fmt.Sprintf("all numbers of a sparse matrix of shape %v", v.shape)
	n := array.Got(array.Count(v.shape, 8))
	full := array.Got(array.Make[float64](f.budget, n, what))
	for t := table[:len(table)-3]; len(t) > 0; t = t[3:] {
		i, j := int(t[0])-1, int(t[1])-1
		if i < 0 || i >= v.shape[0] || j < 0 || j >= v.shape[1] || t[0] != float64(i+1) || t[1] != float64(j+1) {
			array.FailDamaged("a number of its sparse matrix of shape %v lies in row %v "+
				"and column %v", v.shape, t[0], t[1])
		}
		full[i*v.shape[1]+j] += t[2]
	}
	return full
}
