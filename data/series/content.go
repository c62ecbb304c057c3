package series

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/cifti"
	"torchpe/data/array/text"
)

// Format is the format of a file, in the words that commands print.
type Format = arrayfile.Format

// The formats of series in CIFTI.
const (
	PTSeries Format = "cifti-ptseries"
	DTSeries Format = "cifti-dtseries"
)

// content lists the matrices of a file.
type content struct {
	file     string
	format   Format
	matrices []matrix
	others   []arrayfile.Entry // arrays that are not matrices of numbers
	foreign  string            // content of a CIFTI file that is not a series, or empty
}

// matrix is an array of a file. Its numbers have not been read, except those of a text.
type matrix struct {
	name string
	// shape is the shape shown by nibabel, h5py, scipy, MATLAB or numpy, without axes of length 1.
	shape     []int
	entry     arrayfile.Entry // shape and type as in the file
	axes      []Axis
	names     []string // of the tokens, or nil
	namesFrom string   // the file with the names
	sides     []string // hemisphere of each token in CIFTI, L or R; nil elsewhere
	index     []string // columns of a text that seem to count frames
	dense     bool     // tokens are vertices and voxels, too many to train on
	note      string   // parts of the file that are not read, or empty
	cell      arrayfile.Cell
	// load reads the array. If transposed is set, its two axes are in the reverse of their order in shape.
	load       func() (array.Array, error)
	transposed bool
}

// open detects the format of a file and lists its contents.
func open(file string, o Options) *content {
	c := &content{file: file}
	if cifti.HasExtension(file) {
		c.openCIFTI(o)
	} else if c.format = array.Got(arrayfile.FormatOf(file)); c.format == arrayfile.Text {
		c.openText(o)
	} else {
		c.addArrays(array.Got(arrayfile.List(file, c.format)))
	}
	return c
}

// addArrays lists the arrays of a file of HDF5, MATLAB or numpy.
func (c *content) addArrays(entries []arrayfile.Entry) {
	for _, e := range entries {
		m := matrixOf(e)
		if !isMatrix(m.shape) || !e.Real {
			c.others = append(c.others, e)
			continue
		}
		if e.Cell != nil {
			m.cell = *e.Cell
			m.note = fmt.Sprintf("Cells of %s, %v, in %s: %s.", array.Printable(m.cell.Of), m.cell.Shape, c.file,
				m.cellsAre())
		}
		if c.format == arrayfile.NPY || c.format == arrayfile.NPZ {
			m.names, m.namesFrom = namesBeside(c.file)
		}
		c.matrices = append(c.matrices, m)
	}
}

func matrixOf(e arrayfile.Entry) matrix {
	return matrix{name: e.Name, entry: e, shape: array.Array{Shape: e.Shape}.Squeeze().Shape,
		load: func() (array.Array, error) {
			a, err := e.Load()
			return a.Squeeze(), err
		}}
}

// cellsAre describes the assumed meaning of the cells of a cell array.
func (m matrix) cellsAre() string {
	if m.cell.Shape[0] > 1 && slices.Max(m.cell.Shape[1:]) > 1 {
		return "rows are subjects, columns their runs"
	}
	return "each is of one subject"
}

// cellSubject returns the number, from 1, of the subject of a matrix in a cell array: the number of
// its row, or of its cell if there is only one row; 0 if it is in no cell array.
func (m matrix) cellSubject() int {
	if m.cell.Of == "" {
		return 0
	}
	if m.cell.Shape[0] > 1 {
		return m.cell.Index[0]
	}
	n := 0
	for k, i := range slices.Backward(m.cell.Index) {
		n = n*m.cell.Shape[k] + i - 1
	}
	return n + 1
}

// isMatrix reports whether an array can be a series. MATLAB's single numbers and vectors have axes
// of length 1.
func isMatrix(shape []int) bool { return len(shape) >= 2 && slices.Min(shape) > 1 }

func (c *content) openText(o Options) {
	t := array.Got(text.Read(c.file, text.Options{Header: o.Header}))
	m := matrix{shape: t.Shape, entry: arrayfile.Entry{Shape: t.Shape, Type: "text", Real: true}, namesFrom: c.file,
		load: func() (array.Array, error) { return t.Array, nil }, index: indexColumns(t)}
	switch {
	case t.Columns == nil && t.Rows != nil && o.Header == text.Auto && isHeading(t.Rows[0]) &&
		slices.IsSorted(t.Data[:t.Shape[1]]): // as times are
		array.Failf("%s: its first line (%q, ...) may hold names or times of columns, or a row: give "+
			"--header yes or --header no", c.file, t.Rows[0])
	case rowsAreTokens(t) && o.Axes == nil:
		array.Failf("%s: its first column (%q, ...) may name tokens and its first line (%q, ...) frames, or "+
			"the other way round: give --axes tokens,frames or --axes frames,tokens",
			c.file, t.Rows[0], t.Columns[0])
	case t.Columns != nil && t.Rows != nil && slices.Equal(o.Axes, []Axis{TokenAxis, FrameAxis}):
		m.names, m.axes = t.Rows, o.Axes
		m.note = fmt.Sprintf("The first line of %s holds names of frames (%q, ...) and is not read.", c.file,
			t.Columns[0])
	case t.Columns != nil:
		m.names, m.axes = t.Columns, []Axis{FrameAxis, TokenAxis}
		if t.Rows != nil {
			heading := ""
			if t.Corner != "" {
				heading = fmt.Sprintf(", %q,", t.Corner)
			}
			m.note = fmt.Sprintf("The first column of %s%s holds names of frames (%q, ...) and is not read.",
				c.file, heading, t.Rows[0])
		}
		if t.Commented {
			m.note = strings.TrimSpace(m.note + fmt.Sprintf(" Names of tokens come from the comment above "+
				"the numbers of %s.", c.file))
		}
	case t.Rows != nil && (slices.Equal(o.Axes, []Axis{FrameAxis, TokenAxis}) ||
		o.Axes == nil && !slices.ContainsFunc(t.Rows, func(s string) bool { return !isTime(s) })):
		m.axes = []Axis{FrameAxis, TokenAxis}
		m.note = fmt.Sprintf("The first column of %s holds names or times of frames (%q, ...) and is not read.",
			c.file, t.Rows[0])
	case t.Rows != nil:
		m.names, m.axes = t.Rows, []Axis{TokenAxis, FrameAxis}
		if o.Axes == nil {
			m.note = fmt.Sprintf("The first column of %s (%q, ...) is assumed to hold names of tokens, so "+
				"that a row is a token: if a row is a frame, give --axes frames,tokens.", c.file, t.Rows[0])
		}
	}
	c.matrices = []matrix{m}
}

func (c *content) openCIFTI(o Options) {
	image := array.Got(cifti.ReadHeader(c.file))
	shape := []int{image.Axes[0].Length, image.Axes[1].Length} // as nibabel shows it
	m := matrix{shape: shape, entry: arrayfile.Entry{Shape: shape, Type: image.Datatype, Real: true},
		load: c.loadCIFTI, transposed: true}
	switch image.Kind {
	case cifti.Ptseries:
		c.format = PTSeries
		parcels := image.Axes[1].Parcels
		names, sides := make([]string, len(parcels)), make([]string, len(parcels))
		for i, p := range parcels {
			names[i] = p.Name
			for k, v := range p.Vertices {
				if s := sideOf(v.Structure); k == 0 || s == sides[i] {
					sides[i] = s
				} else {
					sides[i] = "" // it lies in both hemispheres
				}
			}
		}
		m.axes, m.names, m.namesFrom = []Axis{FrameAxis, TokenAxis}, names, c.file
		m.sides = sides
	case cifti.Dtseries:
		c.format = DTSeries
		if o.Parcels != "" {
			c.openDense(o)
			return
		}
		m.axes, m.dense = []Axis{FrameAxis, TokenAxis}, true
		for _, model := range image.Axes[1].Models {
			m.sides = append(m.sides, slices.Repeat([]string{sideOf(model.Structure)},
				model.Count)...)
		}
	default:
		c.format, c.foreign = Format("cifti-"+string(image.Kind)), describeCIFTI(image)
		for _, p := range image.Axes[1].Parcels {
			m.names = append(m.names, p.Name)
		}
	}
	c.matrices = []matrix{m}
}

// sideOf returns a name that package partition recognises as that of a hemisphere.
func sideOf(structure string) string {
	switch {
	case strings.HasSuffix(structure, "_LEFT"):
		return "L"
	case strings.HasSuffix(structure, "_RIGHT"):
		return "R"
	}
	return ""
}

// loadCIFTI reads the numbers in the order of the file, [tokens, frames].
func (c *content) loadCIFTI() (array.Array, error) {
	image, err := cifti.Read(c.file)
	if err != nil {
		return array.Array{}, err
	}
	return image.Data, nil
}

// openDense averages a dense series within the parcels of the options.
func (c *content) openDense(o Options) {
	series, labels := array.Got(cifti.Read(c.file)), array.Got(cifti.Read(o.Parcels))
	p := array.Got(cifti.Parcellate(series, labels, o.SkipParcels))
	values, note := p.Values, ""
	if maps := labels.Axes[0].Maps; len(maps) > 1 {
		note = fmt.Sprintf("Parcels are those of %q, the first of the %d maps of %s.", maps[0].Name, len(maps),
			o.Parcels)
	}
	if n := len(p.Missing); n > 0 {
		note = strings.TrimSpace(note + fmt.Sprintf(" %d of the %d parcels of %s have no data in the dense series "+
			"and are left out: %s.", n, n+len(p.Names), o.Parcels, array.Join(p.Missing)))
	}
	shape := []int{values.Shape[1], values.Shape[0]}
	c.matrices = []matrix{{shape: shape, entry: arrayfile.Entry{Shape: shape, Type: series.Datatype, Real: true},
		axes: []Axis{FrameAxis, TokenAxis}, names: p.Names, namesFrom: o.Parcels,
		sides: sidesOf(labels, p.Keys), note: note,
		load: func() (array.Array, error) { return values, nil }, transposed: true}}
}

// sidesOf returns, for the labels with these keys, the hemisphere in which all vertices of a label
// of the first map lie, or "".
func sidesOf(labels *cifti.Image, keys []int) []string {
	of := make(map[int]string, len(keys)) // by key
	for _, model := range labels.Axes[1].Models {
		side := sideOf(model.Structure)
		for i := range model.Count {
			key := int(labels.Data.Data[(model.Offset+i)*labels.Axes[0].Length])
			if before, seen := of[key]; seen && before != side {
				of[key] = ""
			} else {
				of[key] = side
			}
		}
	}
	sides := make([]string, len(keys))
	for i, key := range keys {
		sides[i] = of[key]
	}
	return sides
}

// choose returns the matrices named by the options, in the order of their names in the file, or the
// only matrix if none is named.
func (c *content) choose(datasets []string) []matrix {
	if c.foreign != "" {
		array.Failf("%s: a CIFTI file of kind %s holds %s; a series is a ptseries.nii, or a dtseries.nii "+
			"with --parcellation", c.file, strings.TrimPrefix(string(c.format), "cifti-"), c.foreign)
	}
	if c.format == arrayfile.Safetensors {
		array.Failf("%s (%s): series cannot be read from this format: write them as .npy, .npz, HDF5 "+
			"or CSV", c.file, c.format)
	}
	if len(datasets) > 0 && slices.Contains([]Format{arrayfile.NPY, arrayfile.Text, PTSeries, DTSeries}, c.format) {
		array.Failf("%s (%s): --dataset names %s, but this file holds one array, which has no name: omit "+
			"--dataset", c.file, c.format, strings.Join(datasets, ", "))
	}
	if len(datasets) == 0 {
		return c.only()
	}
	var chosen []matrix
	for _, pattern := range datasets {
		n := len(chosen)
		for _, m := range c.matrices {
			ok, err := path.Match(strings.Trim(pattern, "/"), strings.Trim(m.name, "/"))
			if err != nil {
				array.Failf("--dataset %q: %w", pattern, err)
			}
			ok = ok || m.name == pattern || m.cell.Of != "" && m.cell.Of == pattern ||
				c.format == arrayfile.MAT73 && strings.ReplaceAll(m.name, "/", ".") == pattern
			if ok && !slices.ContainsFunc(chosen, func(c matrix) bool { return c.name == m.name }) {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) > n {
			continue
		}
		e, ok, err := arrayfile.Find(c.others, pattern)
		if ok && err == nil {
			if _, err = e.Load(); err == nil && isMatrix(matrixOf(e).shape) { // a field of a struct
				chosen = append(chosen, matrixOf(e))
				continue
			}
		}
		if err != nil {
			array.Failf("%s (%s): %w", c.file, c.format, err)
		}
		array.Failf("%s (%s): it holds no matrix of numbers named %q%s", c.file, c.format, pattern,
			c.listed())
	}
	return chosen
}

// only returns the only matrix of the file, or those of its only cell array.
func (c *content) only() []matrix {
	if c.isOneCellArray() {
		return c.matrices
	}
	n := len(c.matrices)
	for _, e := range c.others {
		if e.IsUnread() && n > 0 {
			n++
		}
	}
	switch {
	case n == 0:
		array.Failf("%s (%s): it holds no matrix of numbers%s%s", c.file, c.format, c.listed(), c.advice())
	case n > 1:
		array.Failf("%s (%s): it holds %d matrices: choose one with --dataset%s", c.file, c.format, n,
			c.listed())
	}
	return c.matrices
}

// isOneCellArray reports whether all matrices of the file are cells of one cell array.
func (c *content) isOneCellArray() bool {
	return len(c.matrices) > 0 && c.matrices[0].cell.Of != "" && !slices.ContainsFunc(c.matrices,
		func(m matrix) bool { return m.cell.Of != c.matrices[0].cell.Of })
}

// listed describes the contents of the file.
func (c *content) listed() string {
	var all []string
	for _, m := range c.matrices {
		all = append(all, fmt.Sprintf("%s %v", array.Printable(m.name), m.shape))
	}
	for _, e := range c.others {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %v %s", array.Printable(e.Name), e.Shape,
			array.Printable(e.Type))))
	}
	if len(all) == 0 {
		return ""
	}
	return "; it holds " + array.Join(all)
}

// advice returns advice on the only array of the file.
func (c *content) advice() string {
	if len(c.others) != 1 || c.others[0].Real {
		return ""
	}
	_, err := c.others[0].Load()
	return ": " + err.Error()
}
