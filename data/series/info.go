package series

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// Info describes a file.
type Info struct {
	File      string   `json:"file"`
	Format    Format   `json:"format"`
	Shape     []int    `json:"shape"` // of the array, or of the first of several
	Axes      []Axis   `json:"axes"`  // empty if unknown
	Subjects  int      `json:"subjects"`
	Runs      int      `json:"runs"`
	Tokens    int      `json:"tokens"` // 0 if the axes are unknown; so is Frames
	Frames    int      `json:"frames"` // of all runs together
	Subject   string   `json:"subject"`
	Names     []string `json:"names"`                // of the tokens; empty if there are none
	NamesFrom string   `json:"names_from,omitempty"` // the file with the names
	// HemisphereOrder is the order in the names, or in CIFTI in the structures.
	HemisphereOrder partition.Order `json:"hemisphere_order"`
	SHA256          string          `json:"sha256"`
	// FirstRow has the first five numbers of the first row of the array as shown by nibabel, h5py,
	// scipy or numpy.
	FirstRow []Number `json:"first_row"`
	// NotFinite is the number of values that are NaN or infinite. It is nil if the numbers were not
	// read because they need too much memory.
	NotFinite *int     `json:"not_finite"`
	Datasets  []string `json:"datasets,omitempty"`
	Arrays    []Array  `json:"arrays"`          // all arrays of the file, or those named by the options
	Notes     []string `json:"notes,omitempty"` // parts of the file that are not read
	// Problem explains why the file cannot be read as a series without further options.
	Problem string `json:"problem,omitempty"`
}

// Array describes an array of a file.
type Array struct {
	Name  string   `json:"name"` // empty for the only array of a file, without a name
	Shape []int    `json:"shape"`
	Type  string   `json:"type"`  // type of its values, in the terms of the format
	Axes  []Axis   `json:"axes"`  // empty if unknown
	Names []string `json:"names"` // of the tokens; empty if there are none
	// Min and Max are those of the finite numbers. They are nil if there are none or, like
	// NotFinite, if the numbers were not read.
	Min       *Number `json:"min"`
	Max       *Number `json:"max"`
	NotFinite *int    `json:"not_finite"` // number of values that are NaN or infinite
	// Problem explains why the array cannot be read as a series without further options.
	Problem string `json:"problem,omitempty"`

	firstRow []Number
}

// Number is a number that JSON has as null if it is NaN or infinite.
type Number float64

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	if n-n != 0 { // true for NaN and infinities
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Inspect describes a file without keeping its numbers. If the file cannot be read as a series, the
// description says why. Options that do not fit the file are an error.
func Inspect(file string, o Options) (i *Info, err error) {
	defer array.Catch(&err)
	c := open(file, o)
	i = newInfo(file, c.format, o)
	chosen, err := array.Try(func() []matrix { return c.choose(o.Datasets) })
	if err != nil {
		if len(o.Datasets) > 0 && c.foreign == "" {
			return nil, misfit{err}
		}
		i.Problem = err.Error()
	}
	if c.foreign != "" {
		m := c.matrices[0]
		i.Shape, i.Names = m.shape, append(i.Names, m.names...)
		i.HemisphereOrder = partition.OrderOf(i.Names, nil)
	}
	for _, m := range chosen {
		i.add(c, m, o)
	}
	if len(chosen) == 0 {
		i.NotFinite = nil
	}
	if len(o.Datasets) == 0 {
		i.addOthers(c, len(chosen) == 0, o)
	}
	i.SHA256 = array.Got(array.SHA256(file))
	return i, nil
}

// newInfo describes a file by its path only.
func newInfo(file string, format Format, o Options) *Info {
	subject, given := o.Subjects[file]
	if !given {
		subject = inPath(file).subject
	}
	return &Info{
		File: file, Format: format, Shape: []int{}, Axes: []Axis{}, Subjects: 1,
		Subject: subject, Names: []string{}, FirstRow: []Number{}, Arrays: []Array{},
		HemisphereOrder: partition.Unknown, NotFinite: new(int),
	}
}

// add adds another matrix of the file.
func (i *Info) add(c *content, m matrix, o Options) {
	axes, err := c.axesOf(m, o)
	if err != nil {
		if o.Axes != nil || o.Names != nil || o.TokensFrom != "" {
			array.Fail(misfit{err})
		}
		axes = m.axes // names identify them, even if there are too many
	}
	first := len(i.Shape) == 0
	if first {
		i.Shape, i.Axes = m.shape, append(i.Axes, axes...)
	}
	y := layout{slices: 1}
	if axes != nil {
		y = m.layout(axes)
	}
	switch {
	case first:
		i.Tokens = y.tokens
	case y.tokens != i.Tokens && i.Problem == "":
		i.Problem = fmt.Sprintf("%s: %s has %d tokens, those before it %d: choose those of one "+
			"kind with --dataset", c.file, m.name, y.tokens, i.Tokens)
	}
	i.Frames += y.slices * y.frames
	i.Runs += y.slices
	if y.slicesAreSubjects {
		i.Subjects = max(i.Subjects, y.slices)
	}
	i.Subjects = max(i.Subjects, m.cellSubject())
	switch {
	case m.names != nil:
		i.Names, i.NamesFrom = m.names, m.namesFrom
	case o.Names != nil:
		i.Names, i.NamesFrom = o.Names, o.NamesFrom
	}
	if err := checkUnique(i.Names, c.file); err != nil {
		i.Problem = err.Error()
	}
	i.HemisphereOrder = partition.OrderOf(i.Names, m.sides)
	if m.name != "" {
		i.Datasets = append(i.Datasets, m.name)
	}
	if m.note != "" && !slices.Contains(i.Notes, m.note) {
		i.Notes = append(i.Notes, m.note)
	}
	a := array.Got(i.describe(c, m, o))
	if a.Problem != "" {
		i.Problem = a.Problem
	}
	if first {
		i.FirstRow = append(i.FirstRow, a.firstRow...)
	}
	switch {
	case a.NotFinite == nil:
		i.NotFinite = nil
	case i.NotFinite != nil:
		*i.NotFinite += *a.NotFinite
	}
	i.Arrays = append(i.Arrays, a)
}

// addOthers describes the arrays of a file that are not matrices, and its matrices too if matrices is set.
// Each has the reason why it cannot be read as a series. It fails if the file cannot be read.
func (i *Info) addOthers(c *content, matrices bool, o Options) {
	var all []matrix
	if matrices {
		all = slices.Clone(c.matrices)
	}
	for _, e := range c.others {
		all = append(all, matrixOf(e))
	}
	for _, m := range all {
		a, err := i.describe(c, m, o)
		if array.IsReadError(err) {
			array.Fail(err)
		}
		if err != nil {
			a.Problem = err.Error()
		}
		i.Arrays = append(i.Arrays, a)
	}
}

// describe describes an array by its metadata and, if it is not too large, its numbers.
func (i *Info) describe(c *content, m matrix, o Options) (Array, error) {
	a := Array{Name: m.name, Shape: m.entry.Shape, Type: m.entry.Type, Axes: []Axis{}, Names: []string{}}
	a.Names = append(a.Names, m.names...)
	switch {
	case !m.entry.Real:
		_, err := m.load() // its error has advice for this type
		return a, err
	case c.foreign != "":
		a.Problem = i.Problem
	case !isMatrix(m.shape):
		a.Problem = fmt.Sprintf("%s: its shape is %v: a series has an axis of tokens and one of frames",
			plan{c: c, m: m}, a.Shape)
	default:
		axes, err := c.axesOf(m, o)
		if err != nil {
			a.Problem, axes = err.Error(), m.axes // names identify them, even if there are too many
		}
		a.Axes = append(a.Axes, axes...)
		if m.names == nil {
			a.Names = append(a.Names, o.Names...)
		}
	}
	return a, i.addNumbers(&a, c, m, o.Header)
}

// maxDescribed is the largest size in bytes of numbers that are read for a description.
var maxDescribed = 256 << 20

// addNumbers describes the numbers of a matrix.
func (i *Info) addNumbers(d *Array, c *content, m matrix, header text.Choice) error {
	n, err := array.Count(m.shape, 8)
	if err == nil && 8*n > maxDescribed && array.NewBudget().Fits(8*int64(n), m.name) == nil {
		i.Notes = append(i.Notes, fmt.Sprintf("The numbers of %s (%s) were not read: NaN and infinities "+
			"are not counted, and its range and first row are not shown.", plan{c: c, m: m}, array.Bytes(8*int64(n))))
		return nil
	}
	a, err := m.load()
	var large *array.TooLargeError
	if errors.As(err, &large) {
		if d.Problem == "" {
			d.Problem = err.Error()
		} else {
			i.Notes = append(i.Notes, err.Error())
		}
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case isConnectivity(a):
		d.Problem = fmt.Sprintf("%s: %s", plan{c: c, m: m}, connectivityProblem(a))
	case c.format == arrayfile.Text && m.shape[1] == 1:
		d.Problem = notSeries(c.file, fmt.Errorf("%s: one number per line, not series", c.file), header)
	}
	d.addRange(a.Data)
	columns, step := 1, 1 // of a single number
	if len(m.shape) > 0 {
		columns = m.shape[len(m.shape)-1]
	}
	if m.transposed {
		step = m.shape[0]
	}
	for k := 0; k < min(5, columns) && k*step < len(a.Data); k++ {
		d.firstRow = append(d.firstRow, Number(a.Data[k*step]))
	}
	return nil
}

// addRange counts the numbers that are NaN or infinite, and finds the range of the others.
func (d *Array) addRange(data []float64) {
	low, high := Number(math.Inf(1)), Number(math.Inf(-1))
	d.NotFinite = new(int)
	for _, v := range data {
		if v-v != 0 { // true for NaN and infinities
			*d.NotFinite++
			continue
		}
		low, high = min(low, Number(v)), max(high, Number(v))
	}
	if *d.NotFinite < len(data) {
		d.Min, d.Max = &low, &high
	}
}
