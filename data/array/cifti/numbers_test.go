package cifti

import (
	"encoding/binary"
	"math"
	"testing"

	"torchpe/internal/expect"
)

// TestNumbers reads three types of number, in both byte orders, at the ends of its range, with and
// without scaling. Expected are the values that Go's own conversions give.
func TestNumbers(t *testing.T) {
	tests := []struct {
		datatype, bits int16
		values         any
		want           []float64
	}{
		{2, 8, []uint8{0, 1, 127, 128, 254, 255}, []float64{0, 1, 127, 128, 254, 255}},
		{1024, 64, []int64{0, 1, 1 << 53, -1 << 53, -1, 258}, []float64{0, 1, 9007199254740992,
			-9007199254740992, -1, 258}},
		{16, 32, []float32{0, 1.5, -2.25, math.MaxFloat32, float32(math.Inf(1)),
			math.SmallestNonzeroFloat32},
			[]float64{0, 1.5, -2.25, math.MaxFloat32, math.Inf(1), math.SmallestNonzeroFloat32}},
	}
	scales := []struct{ slope, inter, wantSlope, wantInter float64 }{
		{1, 0, 1, 0}, {0, 7, 1, 0}, {math.NaN(), 7, 1, 0}, {math.Inf(1), math.NaN(), 1, 0},
		{0.5, -3, 0.5, -3}, {-2, 0, -2, 0},
	}
	for _, test := range tests {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, scale := range scales {
				s := good()
				s.order, s.datatype, s.bits = order, test.datatype, test.bits
				s.data, _ = binary.Append(nil, order.(binary.ByteOrder), test.values)
				s.edit = func(b []byte, o binary.ByteOrder) {
					o.PutUint64(b[atSlope:], math.Float64bits(scale.slope))
					o.PutUint64(b[atInter:], math.Float64bits(scale.inter))
				}
				m, err := readBytes(s.build())
				if err != nil {
					t.Fatalf("datatype %d, %v: %v", test.datatype, order, err)
				}
				for i, w := range test.want {
					if w = w*scale.wantSlope + scale.wantInter; m.Data.Data[i] != w {
						t.Errorf("datatype %d (%s), %v, scale %v: %v, want %v", test.datatype,
							m.Datatype, order, scale, m.Data.Data[i], w)
					}
				}
			}
		}
	}
}

func TestIntegerThatWouldBeRounded(t *testing.T) {
	s := good()
	s.datatype, s.bits = 1024, 64
	s.data, _ = binary.Append(nil, binary.LittleEndian, []int64{0, 1, 1<<53 + 1, 3, 4, 5})
	expect.Error(t, expect.ErrorOf(readBytes(s.build())), "beyond 2^53")
}
