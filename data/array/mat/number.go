package mat

import (
	"encoding/binary"
	"fmt"
	"math"

	"torchpe/data/array"
)

// mostExact is the largest integer below which a float64 holds all integers.
const mostExact = 1 << 53

// number is a type in which numbers can be stored.
type number struct {
	bytes int
	get   func(b []byte, o binary.ByteOrder) (float64, error)
}

var numbers = map[kind]number{
	miInt8:   {1, func(b []byte, _ binary.ByteOrder) (float64, error) { return float64(int8(b[0])), nil }},
	miUint8:  {1, func(b []byte, _ binary.ByteOrder) (float64, error) { return float64(b[0]), nil }},
	miInt16:  {2, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(int16(o.Uint16(b))), nil }},
	miUint16: {2, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(o.Uint16(b)), nil }},
	miInt32:  {4, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(int32(o.Uint32(b))), nil }},
	miUint32: {4, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(o.Uint32(b)), nil }},
	miInt64:  {8, func(b []byte, o binary.ByteOrder) (float64, error) { return signed(int64(o.Uint64(b))) }},
	miUint64: {8, func(b []byte, o binary.ByteOrder) (float64, error) { return unsigned(o.Uint64(b)) }},
	miSingle: {4, func(b []byte, o binary.ByteOrder) (float64, error) {
		return float64(math.Float32frombits(o.Uint32(b))), nil
	}},
	miDouble: {8, func(b []byte, o binary.ByteOrder) (float64, error) { return math.Float64frombits(o.Uint64(b)), nil }},
}

// numberKinds lists the keys of numbers.
var numberKinds = []kind{miInt8, miUint8, miInt16, miUint16, miInt32, miUint32, miInt64, miUint64, miSingle, miDouble}

func signed(v int64) (float64, error) {
	if v < -mostExact || v > mostExact {
		return 0, fmt.Errorf("is %d, beyond 2^53: a float64 would round it; store such numbers as double if that is meant", v)
	}
	return float64(v), nil
}

func unsigned(v uint64) (float64, error) {
	if v > mostExact {
		return 0, fmt.Errorf("is %d, beyond 2^53: a float64 would round it; store such numbers as double if that is meant", v)
	}
	return float64(v), nil
}

// limits are the ends of the integer classes.
var limits = map[class][2]float64{
	classInt8: {math.MinInt8, math.MaxInt8}, classUint8: {0, math.MaxUint8},
	classInt16: {math.MinInt16, math.MaxInt16}, classUint16: {0, math.MaxUint16},
	classInt32: {math.MinInt32, math.MaxInt32}, classUint32: {0, math.MaxUint32},
	classInt64: {-mostExact, mostExact}, classUint64: {0, mostExact},
}

// holds returns an error where a value is none of its class. MATLAB stores integers, and doubles that are integers, in the
// narrowest type that holds all of an array, whatever its class.
func (h *header) holds(v float64) error {
	if h.logical {
		if v != 0 && v != 1 {
			return fmt.Errorf("is %v, and a logical is 0 or 1: could the file be damaged?", v)
		}
		return nil
	}
	if limit, ok := limits[h.class]; ok && (!(v >= limit[0] && v <= limit[1]) || v != math.Trunc(v)) {
		return fmt.Errorf("is %v, which is none of its class: could the file be damaged?", v)
	}
	return nil
}

// data is where the numbers of a matrix are and how they are stored.
type data struct {
	element *element
	number  number
	count   int
}

// data reads the tag of a matrix's numbers and holds its shape against the bytes that are there.
func (s *stream) data(h *header) (data, error) {
	count, err := array.Count(h.shape, 8)
	if err != nil {
		return data{}, fmt.Errorf("%w: could the file be damaged?", err)
	}
	e, err := s.next("numbers", numberKinds...)
	if err != nil {
		return data{}, err
	}
	n := numbers[e.kind]
	if want := int64(count) * int64(n.bytes); want != e.size {
		return data{}, fmt.Errorf("expected %d bytes of numbers for shape %v stored as %s, the variable has %d: could the file be damaged?",
			want, h.shape, e.kind, e.size)
	}
	return data{e, n, count}, nil
}
