package array

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	b := []byte{0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8}
	for _, c := range []struct {
		n    Number
		name string
		want float64
	}{
		{Number{'u', 1}, "uint8", 0xff}, {Number{'u', 2}, "uint16", 0xfeff},
		{Number{'u', 4}, "uint32", 0xfcfdfeff}, {Number{'u', 8}, "uint64", 0xf8f9fafbfcfdfeff},
		{Number{'i', 1}, "int8", -1}, {Number{'i', 2}, "int16", 0xfeff - 1<<16},
		{Number{'i', 4}, "int32", 0xfcfdfeff - 1<<32},
		{Number{'i', 8}, "int64", float64(0xf8f9fafbfcfdfeff - 1<<64)},
		{Number{'f', 4}, "float32", float64(math.Float32frombits(0xfcfdfeff))},
		{Number{'f', 8}, "float64", math.Float64frombits(0xf8f9fafbfcfdfeff)},
	} {
		if got := c.n.Float64(b, binary.LittleEndian); got != c.want || c.n.String() != c.name {
			t.Errorf("%v: %v, want %s %v", c.n, got, c.name, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	const most = 1 << 53
	for _, c := range []struct {
		n     Number
		u     uint64
		exact bool
	}{
		{Number{'u', 8}, most, true}, {Number{'u', 8}, most + 1, false},
		{Number{'u', 8}, 1 << 63, false},
		{Number{'i', 8}, most, true}, {Number{'i', 8}, most + 1, false},
		{Number{'i', 8}, 1<<64 - most, true}, {Number{'f', 8}, 1 << 62, true},
	} {
		v, err := c.n.Exact(binary.LittleEndian.AppendUint64(nil, c.u), binary.LittleEndian)
		if (err == nil) != c.exact || err != nil && !strings.Contains(err.Error(), "beyond 2^53") {
			t.Errorf("%v %d: %v, %v", c.n, c.u, v, err)
		}
	}
}
