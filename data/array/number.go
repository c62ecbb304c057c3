package array

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Number is a type of numbers in a binary file.
type Number struct {
	Kind  byte // 'i' a signed integer, 'u' an unsigned one, 'f' IEEE 754, as numpy spells them
	Bytes int  // 1, 2, 4 or 8; 2 or more of a float
}

// Int returns the type of signed integers with this number of bytes.
func Int(bytes int) Number { return Number{'i', bytes} }

// Uint returns the type of unsigned integers with this number of bytes.
func Uint(bytes int) Number { return Number{'u', bytes} }

// Float returns the type of IEEE 754 numbers with this number of bytes.
func Float(bytes int) Number { return Number{'f', bytes} }

// String names the type as numpy does, such as "uint8" or "float64".
func (n Number) String() string {
	name := map[byte]string{'i': "int", 'u': "uint", 'f': "float"}[n.Kind]
	return fmt.Sprintf("%s%d", name, 8*n.Bytes)
}

// Float64 returns the number that b begins with. Integers beyond 2^53 are rounded.
func (n Number) Float64(b []byte, o binary.ByteOrder) float64 {
	u := n.Bits(b, o)
	switch n.Kind {
	case 'i':
		shift := 64 - 8*n.Bytes
		return float64(int64(u<<shift) >> shift)
	case 'f':
		switch n.Bytes {
		case 2:
			return half(uint16(u))
		case 4:
			return float64(math.Float32frombits(uint32(u)))
		}
		return math.Float64frombits(u)
	}
	return float64(u)
}

// Exact is Float64 with an error for an integer beyond 2^53.
func (n Number) Exact(b []byte, o binary.ByteOrder) (float64, error) {
	if n.Bytes == 8 && n.Kind != 'f' {
		const most = 1 << 53 // up to which a float64 holds all integers
		u := n.Bits(b, o)
		if i := int64(u); n.Kind == 'i' && (i < -most || i > most) {
			return 0, beyondError(i)
		}
		if n.Kind == 'u' && u > most {
			return 0, beyondError(u)
		}
	}
	return n.Float64(b, o), nil
}

// BeyondInteger reports whether a number in a text of only digits is beyond 2^53.
func BeyondInteger[T string | []byte](v float64, text T) bool {
	if !(math.Abs(v) >= 1<<53) { // nor is NaN
		return false
	}
	digits := strings.TrimLeft(string(text), "+-0")
	return strings.Trim(digits, "0123456789") == "" && digits != "9007199254740992"
}

func beyondError[I int64 | uint64](v I) error {
	return fmt.Errorf("is %d, beyond 2^53: a float64 would round it; "+
		"store such numbers in double precision if that is meant", v)
}

// Bits returns the bytes of the number.
func (n Number) Bits(b []byte, o binary.ByteOrder) uint64 {
	switch n.Bytes {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(o.Uint16(b))
	case 4:
		return uint64(o.Uint32(b))
	}
	return o.Uint64(b)
}

// half returns the number of 16 bits (IEEE 754 binary16: a sign, 5 bits of exponent biased by 15,
// 10 of fraction).
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
