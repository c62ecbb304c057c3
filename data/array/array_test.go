package array

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  int
	}{{nil, 1}, {[]int{3, 0, 5}, 0}, {[]int{2, 3, 4}, 24}} {
		expect.Equal(t, fmt.Sprintf("Count(%v)", c.shape), expect.Must(Count(c.shape, 8)), c.want)
	}
	// numpy refuses a length of 0 beside others that are too large, too.
	for _, shape := range [][]int{{-1}, {2, -3}, {math.MaxInt}, {1 << 31, 1 << 31}, {math.MaxInt / 8, 2},
		{0, math.MaxInt}} {
		expect.Refused(t, shape, expect.ErrorOf(Count(shape, 8)))
	}
}

func TestCheck(t *testing.T) {
	if err := (Array{Shape: []int{2, 3}, Data: make([]float64, 6)}).Check(); err != nil {
		t.Error(err)
	}
	for _, a := range []Array{{Shape: []int{2, 3}, Data: make([]float64, 5)}, {Shape: []int{-1}},
		{Data: nil}} {
		if a.Check() == nil {
			t.Errorf("%v with %d numbers is taken", a.Shape, len(a.Data))
		}
	}
}

func TestSqueeze(t *testing.T) {
	for _, c := range [][2][]int{
		{{1, 360, 1195}, {360, 1195}}, {{1, 1, 4}, {1, 4}}, {{5, 1, 1, 2}, {5, 2}}, {{1}, {1}},
		{{1, 1}, {1, 1}}, {{2, 3, 4}, {2, 3, 4}}, {nil, nil},
	} {
		before := slices.Clone(c[0])
		if got := (Array{Shape: c[0]}).Squeeze().Shape; !slices.Equal(got, c[1]) ||
			!slices.Equal(c[0], before) {
			t.Errorf("Squeeze of %v is %v, want %v", before, got, c[1])
		}
	}
}

func TestTranspose(t *testing.T) {
	a := Array{Name: "x", Shape: []int{2, 3}, Data: []float64{1, 2, 3, 4, 5, 6}}
	b := a.Transpose()
	if b.Name != "x" || !slices.Equal(b.Shape, []int{3, 2}) ||
		!slices.Equal(b.Data, []float64{1, 4, 2, 5, 3, 6}) {
		t.Errorf("transposed %+v", b)
	}
	if c := b.Transpose(); !slices.Equal(c.Shape, a.Shape) || !slices.Equal(c.Data, a.Data) {
		t.Errorf("transposed twice %+v", c)
	}
}

func TestFromColumnMajor(t *testing.T) {
	// numpy: np.arange(24).reshape(2, 3, 4, order="F").ravel()
	data := make([]float64, 24)
	for i := range data {
		data[i] = float64(i)
	}
	got := FromColumnMajor(data, []int{2, 3, 4})
	want := []float64{0, 6, 12, 18, 2, 8, 14, 20, 4, 10, 16, 22, 1, 7, 13, 19, 3, 9, 15, 21,
		5, 11, 17, 23}
	expect.Equal(t, "row-major", got, want)
	if got := FromColumnMajor([]float64{1, 2, 3}, []int{3}); !slices.Equal(got,
		[]float64{1, 2, 3}) {
		t.Errorf("a vector became %v", got)
	}
	if got := FromColumnMajor(nil, []int{3, 0}); len(got) != 0 {
		t.Errorf("nothing became %v", got)
	}
}

// A message shows 60 characters at most, of four bytes each as well.
func TestQuoteIsShort(t *testing.T) {
	for n, want := range map[int]string{59: `"`, 60: `"`, 61: `"...`} {
		for _, character := range []string{"a", "𝄞"} {
			if got := Quote(strings.Repeat(character, n)); got != `"`+strings.Repeat(character, min(n, 60))+want {
				t.Errorf("%d of %s: %s", n, character, got)
			}
		}
	}
}
