package hcp

import "fmt"

// nuisance is the design of a run: the nuisance signals over all frames, without an intercept.
type nuisance struct {
	X     Matrix   // [frames, 64]
	Names []string // names of the columns, such as motion1, motion1_deriv, wm5_deriv_squared
	Notes []string // notes on derivatives that were not given
}

// designOf returns the 64 nuisance signals of a run in the published order: motion, its derivatives,
// white matter, its derivatives, ventricles, their derivatives, then the squares of these 32.
// Derivatives that are not given are backward differences with 0 at the first frame. The run's signals
// were checked.
func designOf(r Run) (nuisance, error) {
	frames := r.Motion.Rows
	n := nuisance{X: Matrix{Name: "design", Rows: frames, Columns: designColumns,
		Data: make([]float64, frames*designColumns)}}
	n.add(columns(r.Motion, 0, motionParameters), "motion", "")
	if r.Motion.Columns == 2*motionParameters {
		n.add(columns(r.Motion, motionParameters, 2*motionParameters), "motion", "_deriv")
	} else {
		n.add(difference(r.Motion), "motion", "_deriv")
		n.Notes = append(n.Notes, r.Motion.called("motion")+" has 6 columns: its derivatives are "+
			"taken here as backward differences")
	}
	signals := r.signals()
	for i := 1; i < len(signals); i += 2 {
		values, derivative := signals[i], signals[i+1]
		n.add(values.Matrix, values.column, "")
		if derivative.empty() {
			n.add(difference(values.Matrix), values.column, "_deriv")
			n.Notes = append(n.Notes,
				fmt.Sprintf("no %s: they are taken here as backward differences", derivative.what))
		} else {
			n.add(derivative.Matrix, derivative.column, "_deriv")
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

// add appends the columns of m to the design.
func (n *nuisance) add(m Matrix, name, suffix string) {
	at := len(n.Names)
	for f := range m.Rows {
		copy(n.X.Row(f)[at:], m.Row(f))
	}
	for j := range m.Columns {
		n.Names = append(n.Names, fmt.Sprintf("%s%d%s", name, j+1, suffix))
	}
}

// square appends the squares of all columns so far.
func (n *nuisance) square() {
	half := len(n.Names)
	for f := range n.X.Rows {
		row := n.X.Row(f)
		for j, v := range row[:half] {
			row[half+j] = v * v
		}
	}
	for _, name := range n.Names[:half] {
		n.Names = append(n.Names, name+"_squared")
	}
}

// columns returns a copy of the columns first to last-1.
func columns(m Matrix, first, last int) Matrix {
	c := Matrix{Name: m.Name, Rows: m.Rows, Columns: last - first,
		Data: make([]float64, 0, m.Rows*(last-first))}
	for f := range m.Rows {
		c.Data = append(c.Data, m.Row(f)[first:last]...)
	}
	return c
}

// difference returns the backward difference of each column, 0 at the first frame.
func difference(m Matrix) Matrix {
	d := Matrix{Name: m.Name, Rows: m.Rows, Columns: m.Columns, Data: make([]float64, len(m.Data))}
	for i := m.Columns; i < len(m.Data); i++ {
		d.Data[i] = m.Data[i] - m.Data[i-m.Columns]
	}
	return d
}
