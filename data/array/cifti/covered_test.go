package cifti

import (
	"slices"
	"strings"
	"testing"
)

// A series of the cortex alone has nothing of the label "two": vertex 2 is not in it.
func TestParcellateCovered(t *testing.T) {
	labels := dlabel(areas(), 0, 1, 2, 1)
	_, err := Parcellate(dense(3, 0, 1), labels, false)
	isMissing := func(err error) bool {
		return err != nil && strings.Contains(err.Error(), "--missing-parcels skip")
	}
	if !isMissing(err) {
		t.Errorf("%v", err)
	}
	p, err := Parcellate(dense(3, 0, 1), labels, true)
	if err != nil || !slices.Equal(p.Values.Data, []float64{2, 102}) || !slices.Equal(p.Values.Shape, []int{1, 2}) ||
		!slices.Equal(p.Names, []string{"one"}) || !slices.Equal(p.Missing, []string{"two"}) ||
		!slices.Equal(p.Keys, []int{1}) || !slices.Equal(p.Grayordinates, []int{2}) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Parcellate(dense(0, 7), labels, true); !isMissing(err) {
		t.Errorf("no parcel is left: %+v, %v", p, err)
	}
	whole, err := Parcellate(dense(3, 0, 2, 1), labels, true)
	same, sameErr := Parcellate(dense(3, 0, 2, 1), labels, false)
	if err != nil || sameErr != nil || whole.Missing != nil || !slices.Equal(whole.Values.Data, same.Values.Data) {
		t.Errorf("%+v, %+v, %v, %v", whole, same, err, sameErr)
	}
}
