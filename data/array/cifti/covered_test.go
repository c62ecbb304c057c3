package cifti

import (
	"errors"
	"slices"
	"testing"
)

// A series of the cortex alone has nothing of the label "two": vertex 2 is not in it.
func TestParcellateCovered(t *testing.T) {
	labels := dlabel(areas(), 0, 1, 2, 1)
	_, err := Parcellate(dense(3, 0, 1), labels, "")
	var missing *MissingParcelsError
	if !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	p, err := ParcellateCovered(dense(3, 0, 1), labels, "")
	if err != nil || !slices.Equal(p.Values.Data, []float64{2, 102}) || !slices.Equal(p.Values.Shape, []int{1, 2}) ||
		!slices.Equal(p.Names, []string{"one"}) || !slices.Equal(p.Missing, []string{"two"}) ||
		!slices.Equal(p.Keys, []int{1}) || !slices.Equal(p.Grayordinates, []int{2}) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := ParcellateCovered(dense(0, 7), labels, ""); !errors.As(err, &missing) {
		t.Errorf("no parcel is left: %+v, %v", p, err)
	}
	whole, err := ParcellateCovered(dense(3, 0, 2, 1), labels, "")
	same, sameErr := Parcellate(dense(3, 0, 2, 1), labels, "")
	if err != nil || sameErr != nil || whole.Missing != nil || !slices.Equal(whole.Values.Data, same.Values.Data) {
		t.Errorf("%+v, %+v, %v, %v", whole, same, err, sameErr)
	}
}
