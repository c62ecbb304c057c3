package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// mostExact is the largest integer below which a float64 holds all integers.
const mostExact = 1 << 53

// number is a type of numbers that an array can hold.
type number struct {
	bytes int
	get   func(b []byte, o binary.ByteOrder) (float64, error)
}

// numbers lists the types by numpy's letter and size in bytes (numpy.dtype.str without the byte order).
var numbers = map[string]number{
	"b1": {1, func(b []byte, _ binary.ByteOrder) (float64, error) { return boolean(b[0]) }},
	"i1": {1, func(b []byte, _ binary.ByteOrder) (float64, error) { return float64(int8(b[0])), nil }},
	"u1": {1, func(b []byte, _ binary.ByteOrder) (float64, error) { return float64(b[0]), nil }},
	"i2": {2, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(int16(o.Uint16(b))), nil }},
	"u2": {2, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(o.Uint16(b)), nil }},
	"i4": {4, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(int32(o.Uint32(b))), nil }},
	"u4": {4, func(b []byte, o binary.ByteOrder) (float64, error) { return float64(o.Uint32(b)), nil }},
	"i8": {8, func(b []byte, o binary.ByteOrder) (float64, error) { return signed(int64(o.Uint64(b))) }},
	"u8": {8, func(b []byte, o binary.ByteOrder) (float64, error) { return unsigned(o.Uint64(b)) }},
	"f2": {2, func(b []byte, o binary.ByteOrder) (float64, error) { return half(o.Uint16(b)), nil }},
	"f4": {4, func(b []byte, o binary.ByteOrder) (float64, error) {
		return float64(math.Float32frombits(o.Uint32(b))), nil
	}},
	"f8": {8, func(b []byte, o binary.ByteOrder) (float64, error) { return math.Float64frombits(o.Uint64(b)), nil }},
}

func boolean(b byte) (float64, error) {
	if b > 1 {
		return 0, fmt.Errorf("is the byte %d, and a boolean is 0 or 1: could the file be damaged?", b)
	}
	return float64(b), nil
}

func signed(v int64) (float64, error) {
	if v < -mostExact || v > mostExact {
		return 0, fmt.Errorf("is %d, beyond 2^53: a float64 would round it; store such numbers as float64 if that is meant", v)
	}
	return float64(v), nil
}

func unsigned(v uint64) (float64, error) {
	if v > mostExact {
		return 0, fmt.Errorf("is %d, beyond 2^53: a float64 would round it; store such numbers as float64 if that is meant", v)
	}
	return float64(v), nil
}

// half returns the number of 16 bits (IEEE 754 binary16: a sign, 5 bits of exponent biased by 15, 10 of fraction).
func half(bits uint16) float64 {
	sign := uint64(bits>>15) << 63
	exponent, fraction := int(bits>>10&31), uint64(bits&1023)
	switch exponent {
	case 0:
		return math.Copysign(math.Ldexp(float64(fraction), -24), math.Float64frombits(sign))
	case 31:
		return math.Float64frombits(sign | 2047<<52 | fraction<<42)
	}
	return math.Float64frombits(sign | uint64(exponent-15+1023)<<52 | fraction<<42)
}

// dtype returns the type and the byte order of a descr such as "<f8".
func dtype(descr string) (number, binary.ByteOrder, error) {
	mark, name := byte('|'), descr
	if descr != "" && strings.IndexByte("<>|=", descr[0]) >= 0 {
		mark, name = descr[0], descr[1:]
	}
	n, ok := numbers[name]
	switch {
	case !ok:
		return number{}, nil, unreadable(descr, name)
	case mark == '<', n.bytes == 1:
		return n, binary.LittleEndian, nil
	case mark == '>':
		return n, binary.BigEndian, nil
	}
	return number{}, nil, fmt.Errorf("dtype %s does not say its byte order, want < or > before %s", clip(descr), name)
}

// unreadable says why an array of a type cannot be read and what to store in its place.
func unreadable(descr, name string) error {
	if strings.HasPrefix(descr, "[") {
		return fmt.Errorf("dtype %s is one of records: store each field as an array of its own", clip(descr))
	}
	if name == "" {
		return errors.New("the dtype is empty")
	}
	why := "want b1, i1-i8, u1-u8, f2, f4 or f8"
	switch name[0] {
	case 'c':
		why = "holds complex numbers: store the real parts (a.real), and the imaginary ones as an array of their own"
	case 'O':
		why = "holds Python objects, which are programs and not numbers: store an array of numbers"
	case 'f':
		why = "holds floating-point numbers of a size that differs between machines: store float64"
	case 'U', 'S', 'a':
		why = "holds text: store numbers here, and text in a file of its own"
	case 'M', 'm':
		why = "holds dates or times: store a number of seconds as float64"
	case 'V':
		why = "holds raw bytes (a bfloat16 or a type of another library?): store float32"
	}
	return fmt.Errorf("dtype %s %s", clip(descr), why)
}

// clip shortens text from a file for a message.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%.*q...", most, s)
	}
	return fmt.Sprintf("%q", s)
}
