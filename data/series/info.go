package series

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/text"
	"torchpe/data/partition"
)

// Info describes a file.
type Info struct {
	File      string   `json:"file"`
	Format    Format   `json:"format"`
	Shape     []int    `json:"shape"` // of the array, or the first of several
	Axes      []Axis   `json:"axes"`  // empty where nothing tells them
	Subjects  int      `json:"subjects"`
	Runs      int      `json:"runs"`
	Tokens    int      `json:"tokens"` // 0 where the axes are not known, as frames
	Frames    int      `json:"frames"` // of all runs together
	Subject   string   `json:"subject"`
	Names     []string `json:"names"`                // of the tokens; empty where there are none
	NamesFrom string   `json:"names_from,omitempty"` // the file that has them
	// HemisphereOrder is that of the names, or in CIFTI of the structures.
	HemisphereOrder partition.Order `json:"hemisphere_order"`
	SHA256          string          `json:"sha256"`
	// FirstRow has the first five numbers of the first row, as nibabel, h5py, scipy or numpy show
	// the array
	FirstRow []Number `json:"first_row"`
	// NotFinite counts the numbers that are NaN or infinite; it is nil where they were not read: they
	// need more memory than readers may take, or than a description is worth.
	NotFinite *int     `json:"not_finite"`
	Datasets  []string `json:"datasets,omitempty"`
	Notes     []string `json:"notes,omitempty"` // what of the file is not read
	// Problem explains why the file cannot be read as a series without further options.
	Problem string `json:"problem,omitempty"`
}

// Number is a number that JSON writes as null where it is NaN or infinite.
type Number float64

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	if n-n != 0 { // true for NaN and infinities
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Inspect describes a file without keeping its numbers. What keeps it from being read as a series
// is part of the description, unless it is the options that do not fit the file.
func Inspect(file string, o Options) (*Info, error) {
	c, err := open(file, o)
	if err != nil {
		return nil, err
	}
	i := newInfo(file, c.format, o)
	chosen, err := c.choose(o.Datasets)
	if err != nil {
		if len(o.Datasets) > 0 && c.foreign == nil {
			return nil, misfit{err}
		}
		i.Problem = err.Error()
	}
	if f := c.foreign; f != nil {
		i.Shape, i.Names, i.NotFinite = f.shape, append(i.Names, f.names...), nil
		i.HemisphereOrder = partition.OrderOf(i.Names, nil)
	}
	for _, m := range chosen {
		if err := i.add(c, m, o); err != nil {
			return nil, err
		}
	}
	i.SHA256, err = digest(file)
	return i, err
}

// newInfo describes a file of which nothing but its path is known.
func newInfo(file string, format Format, o Options) *Info {
	subject, given := o.Subjects[file]
	if !given {
		subject = inPath(file).subject
	}
	return &Info{
		File: file, Format: format, Shape: []int{}, Axes: []Axis{}, Subjects: 1,
		Subject: subject, Names: []string{}, FirstRow: []Number{},
		HemisphereOrder: partition.Unknown, NotFinite: new(int),
	}
}

// add describes one more matrix of the file.
func (i *Info) add(c *content, m matrix, o Options) error {
	axes, err := c.axesOf(m, o)
	if err != nil {
		if o.Axes != nil || o.Names != nil || o.TokensFrom != "" {
			return misfit{err}
		}
		i.Problem = err.Error()
		axes = m.axes // names tell them, even if there are too many
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
		i.Problem = fmt.Sprintf("%s: %s has %d tokens, those before it %d: name those of one "+
			"kind with --dataset", c.file, m.name, y.tokens, i.Tokens)
	}
	i.Frames += y.slices * y.frames
	i.Runs += y.slices
	if y.slicesAreSubjects {
		i.Subjects = y.slices
	}
	i.Subjects = max(i.Subjects, m.cellSubject())
	switch {
	case m.names != nil:
		i.Names, i.NamesFrom = m.names, m.namesFrom
	case o.Names != nil:
		i.Names, i.NamesFrom = o.Names, o.NamesFrom
	}
	i.HemisphereOrder = partition.OrderOf(i.Names, m.sides)
	if m.name != "" {
		i.Datasets = append(i.Datasets, m.name)
	}
	if m.note != "" && !slices.Contains(i.Notes, m.note) {
		i.Notes = append(i.Notes, m.note)
	}
	return i.addNumbers(c, m, first, o.Header)
}

// maxDescribed bounds the bytes of the numbers that are read for a description.
var maxDescribed = 256 << 20

// addNumbers describes the numbers of a matrix.
func (i *Info) addNumbers(c *content, m matrix, first bool, header text.Choice) error {
	n, err := array.Count(m.shape, 8)
	if err == nil && 8*n > maxDescribed && array.NewBudget().Fits(8*int64(n), m.name) == nil {
		i.NotFinite = nil
		i.Notes = append(i.Notes, fmt.Sprintf("The numbers of %s (%s) were not read: NaN and infinities "+
			"are not counted, and its first row is not shown.", plan{c: c, m: m}, array.Bytes(8*int64(n))))
		return nil
	}
	a, err := m.load()
	var large *array.TooLargeError
	if errors.As(err, &large) {
		i.NotFinite = nil
		if i.Problem == "" {
			i.Problem = err.Error()
		}
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case isConnectivity(a):
		i.Problem = fmt.Sprintf("%s: a square, symmetric matrix of %d tokens: this is a connectivity "+
			"matrix, not series", plan{c: c, m: m}, a.Shape[0])
	case c.format == Text && m.shape[1] == 1:
		i.Problem = notSeries(c.file, fmt.Errorf("%s: one number a line, not series", c.file), header)
	}
	for _, v := range a.Data {
		if v-v != 0 && i.NotFinite != nil {
			*i.NotFinite++
		}
	}
	columns, step := m.shape[len(m.shape)-1], 1
	if m.transposed {
		step = m.shape[0]
	}
	for k := 0; first && k < min(5, columns) && k*step < len(a.Data); k++ {
		i.FirstRow = append(i.FirstRow, Number(a.Data[k*step]))
	}
	return nil
}

func digest(file string) (sum string, err error) {
	f, err := array.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
