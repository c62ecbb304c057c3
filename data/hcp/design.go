package hcp

import (
	"fmt"

	"torchpe/data/array"
)

// nuisance is the design of a run: the nuisance signals over all frames, without an intercept.
type nuisance struct {
	X     array.Array // [frames, 64]
	Names []string    // names of the columns, such as motion1, motion1_deriv, wm5_deriv_squared
	Notes []string    // notes on derivatives that were not given
}

// designOf returns the 64 nuisance signals of a run in the published order: motion, its derivatives,
// white matter, its derivatives, ventricles, their derivatives, then the squares of these 32.
// Derivatives that are not given are backward differences with 0 at the first frame. The run's signals
// were checked.
func designOf(r Run) (nuisance, error) {
	frames := r.Motion.Shape[0]
	n := nuisance{X: array.Array{Shape: []int{frames, designColumns},
		Data: make([]float64, frames*designColumns)}}
	n.add(columns(r.Motion, 0, motionParameters), "motion", "")
	if r.Motion.Shape[1] == 2*motionParameters {
		n.add(columns(r.Motion, motionParameters, 2*motionParameters), "motion", "_deriv")
	} else {
		n.add(difference(r.Motion), "motion", "_deriv")
		n.Notes = append(n.Notes, called("motion", r.Motion)+" has 6 columns: its derivatives are "+
			"taken here as backward differences")
	}
	signals := r.signals()
	for i := 1; i < len(signals); i += 2 {
		values, derivative := signals[i], signals[i+1]
		n.add(values.Array, values.column, "")
		if derivative.Shape == nil {
			n.add(difference(values.Array), values.column, "_deriv")
			n.Notes = append(n.Notes,
				fmt.Sprintf("no %s: they are taken here as backward differences", derivative.what))
		} else {
			n.add(derivative.Array, derivative.column, "_deriv")
		}
	}
	n.square()
	for i, v := range n.X.Data {
		if v-v != 0 {
			return nuisance{}, fmt.Errorf("clean: %s at frame %d is beyond the range of numbers: "+
				"give the signals in another unit", n.Names[i%designColumns], i/designColumns)
		}
	}
	return n, nil
}

// add appends the columns of a to the design.
func (n *nuisance) add(a array.Array, name, suffix string) {
	at := len(n.Names)
	for f := range a.Shape[0] {
		copy(rowOf(n.X, f)[at:], rowOf(a, f))
	}
	for j := range a.Shape[1] {
		n.Names = append(n.Names, fmt.Sprintf("%s%d%s", name, j+1, suffix))
	}
}

// square appends the squares of all columns so far.
func (n *nuisance) square() {
	half := len(n.Names)
	for f := range n.X.Shape[0] {
		row := rowOf(n.X, f)
		for j, v := range row[:half] {
			row[half+j] = v * v
		}
	}
	for _, name := range n.Names[:half] {
		n.Names = append(n.Names, name+"_squared")
	}
}

// columns returns a copy of the columns first to last-1.
func columns(a array.Array, first, last int) array.Array {
	c := array.Array{Name: a.Name, Shape: []int{a.Shape[0], last - first}}
	for f := range a.Shape[0] {
		c.Data = append(c.Data, rowOf(a, f)[first:last]...)
	}
	return c
}

// difference returns the backward difference of each column, 0 at the first frame.
func difference(a array.Array) array.Array {
	d := array.Array{Name: a.Name, Shape: a.Shape, Data: make([]float64, len(a.Data))}
	for i := a.Shape[1]; i < len(a.Data); i++ {
		d.Data[i] = a.Data[i] - a.Data[i-a.Shape[1]]
	}
	return d
}
