package petest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"torchpe/internal/expect"
)

func TestArrayFromJSON(t *testing.T) {
	var a Array
	expect.NoError(t, json.Unmarshal([]byte(`[[1, null, 3], [4, 5, 6.5]]`), &a))
	if !slices.Equal(a.Shape, []int{2, 3}) || !math.IsNaN(a.Values[1]) || a.Values[5] != 6.5 {
		t.Errorf("read %+v", a)
	}
	if err := json.Unmarshal([]byte(`{"1": [2, 3]}`), &a); err != nil || !slices.Equal(a.Shape, []int{2, 2}) ||
		!slices.Equal(a.Values, []float64{0, 0, 2, 3}) {
		t.Errorf("read %+v, %v", a, err)
	}
	for _, text := range []string{`[[1], [2, 3]]`, `[1, [2]]`, `["x"]`, `[[1], 2]`, `{}`, `{"x": [1]}`} {
		expect.Refused(t, text, json.Unmarshal([]byte(text), &a))
	}
}

func TestCompare(t *testing.T) {
	one := Array{Shape: []int{2}, Values: []float64{1, 100}}
	for _, c := range []struct {
		got, want Array
		equal     bool
	}{
		{one, one, true},
		{Array{[]int{2}, []float64{1.05, 104}}, one, true}, // within 0.1 and 4 %
		{Array{[]int{2}, []float64{1.2, 100}}, one, false},
		{Array{[]int{2}, []float64{1, 105}}, one, false},
		{Array{[]int{2}, []float64{1, math.NaN()}}, one, false},
		{one, Array{[]int{2}, []float64{1, math.NaN()}}, true}, // masked
		{Array{[]int{1, 2}, []float64{1, 100}}, one, false},
	} {
		err := Compare(c.got, c.want, Tolerance{0.1, 0.04})
		expect.Equal(t, fmt.Sprintf("%v against %v (%v): equal", c.got, c.want, err), err == nil, c.equal)
	}
}
