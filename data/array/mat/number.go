package mat

import (
	"maps"
	"math"
	"slices"

	"torchpe/data/array"
)

// mostExact is the largest integer below which a float64 holds all integers.
const mostExact = 1 << 53

var numbers = map[kind]array.Number{
	miInt8: array.Int(1), miInt16: array.Int(2), miInt32: array.Int(4), miInt64: array.Int(8),
	miUint8: array.Uint(1), miUint16: array.Uint(2), miUint32: array.Uint(4),
	miUint64: array.Uint(8),
	miSingle: array.Float(4), miDouble: array.Float(8),
}

// numberKinds lists the keys of numbers.
var numberKinds = slices.Sorted(maps.Keys(numbers))

// limits are the ends of the integer classes.
var limits = map[class][2]float64{
	classInt8: {math.MinInt8, math.MaxInt8}, classUint8: {0, math.MaxUint8},
	classInt16: {math.MinInt16, math.MaxInt16}, classUint16: {0, math.MaxUint16},
	classInt32: {math.MinInt32, math.MaxInt32}, classUint32: {0, math.MaxUint32},
	classInt64: {-mostExact, mostExact}, classUint64: {0, mostExact},
}

// checkClass returns an error for a value that its class cannot hold. MATLAB stores integers, and
// doubles that are integers, in the narrowest type that holds all of an array, regardless of its class.
func (h *header) checkClass(v float64) error {
	if h.logical {
		if v != 0 && v != 1 {
			return array.Damaged("is %v, and a logical is 0 or 1", v)
		}
		return nil
	}
	if limit, ok := limits[h.class]; ok && (!(v >= limit[0] && v <= limit[1]) ||
		v != math.Trunc(v)) {
		return array.Damaged("is %v, which is none of its class", v)
	}
	return nil
}

// data holds the place and the stored type of a matrix's numbers.
type data struct {
	element *element
	number  array.Number
}

// checkData checks the data of a variable as data does. Its errors begin with the variable's name.
func (s *stream) checkData(h *header) {
	defer array.Within("%s", array.Quote(h.name))
	s.data(h)
}

// data reads the tag of a matrix's numbers and checks its shape against the bytes. One without a
// shape gets that of a list.
func (s *stream) data(h *header) data {
	e := s.next("numbers", numberKinds...)
	n := numbers[e.kind]
	if h.logical && e.kind == miDouble && e.size < 8*h.least {
		n = array.Uint(1) // as MATLAB stores the numbers of sparse logicals, regardless of their type
	}
	if h.shape == nil {
		h.shape = []int{int(e.size) / n.Bytes}
	}
	if want := int64(count(h.shape, 8)) * int64(n.Bytes); want != e.size {
		array.FailDamaged("expected %d bytes of numbers for shape %v stored as %s, "+
			"the variable has %d", want, h.shape, e.kind, e.size)
	}
	return data{e, n}
}
