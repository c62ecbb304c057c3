package series

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/cifti"
	"torchpe/data/array/hdf5"
	"torchpe/data/array/mat"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
)

// Format is the format of a file, in the words that commands print.
type Format string

// The formats.
const (
	PTSeries Format = "cifti-ptseries"
	DTSeries Format = "cifti-dtseries"
	HDF5     Format = "hdf5"
	MAT5     Format = "mat-v5"
	MAT73    Format = "mat-v7.3"
	NPY      Format = "npy"
	NPZ      Format = "npz"
	Text     Format = "text"
)

// content is what a file holds.
type content struct {
	file     string
	format   Format
	matrices []matrix
	others   []string // what is no matrix of numbers, described
}

// matrix is an array of a file that has not been read, or of text, which has.
type matrix struct {
	name      string
	shape     []int // as the format's reference library shows it: nibabel, h5py, scipy or MATLAB, numpy
	axes      []Axis
	names     []string // of the tokens, or nil
	namesFrom string   // the file that has them
	sides     []string // hemisphere of each token in CIFTI, as a name that says it; nil elsewhere
	index     string   // the name of a first column that seems to count frames, or empty
	dense     bool     // tokens are vertices and voxels, which are too many to train on
	load      func() (array.Array, error)
}

// open finds the format of a file by its first bytes and lists what it holds.
func open(file string, o Options) (*content, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file (%s)", file, info.Mode())
	}
	head, err := firstBytes(file, 1024)
	if err != nil {
		return nil, err
	}
	c := &content{file: file}
	base := strings.ToLower(filepath.Base(file))
	switch {
	case strings.HasSuffix(base, ".nii") || strings.HasSuffix(base, ".nii.gz"):
		return c, c.openCIFTI(o)
	case bytes.HasPrefix(head, []byte("MATLAB 7.3 MAT-file")):
		c.format = MAT73
		return c, c.openHDF5()
	case bytes.HasPrefix(head, []byte("MATLAB 5.0 MAT-file")) || strings.HasSuffix(base, ".mat") && !bytes.HasPrefix(head, []byte("\x89HDF")):
		c.format = MAT5
		return c, c.openMAT()
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		c.format = NPY
		return c, c.openNPY()
	case bytes.HasPrefix(head, []byte("PK")):
		c.format = NPZ
		return c, c.openNPY()
	case hasHDF5(head) || slices.Contains([]string{".h5", ".hdf5", ".he5", ".mat"}, filepath.Ext(base)):
		c.format = HDF5
		return c, c.openHDF5()
	}
	c.format = Text
	return c, c.openText()
}

func firstBytes(file string, n int) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	got, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return b[:got], nil
}

// hasHDF5 says whether HDF5's signature stands at the beginning, or behind a user block of 512 bytes.
func hasHDF5(head []byte) bool {
	signature := []byte("\x89HDF\r\n\x1a\n")
	return bytes.HasPrefix(head, signature) || len(head) > 512 && bytes.HasPrefix(head[512:], signature)
}

func (c *content) openHDF5() error {
	entries, err := hdf5.List(c.file)
	if err != nil {
		return err
	}
	for _, e := range entries {
		shape := squeezed(e.Shape)
		// MATLAB keeps the contents of cells below #refs#, and letters as numbers.
		if strings.HasPrefix(e.Name, "/#") || e.Attributes["MATLAB_class"] == "char" || !numeric(e.DType) || !isMatrix(shape) {
			c.others = append(c.others, fmt.Sprintf("%s %v %s", e.Name, e.Shape, e.DType))
			continue
		}
		m := matrix{name: e.Name, shape: shape}
		m.load = func() (array.Array, error) {
			a, err := hdf5.Read(c.file, e.Name)
			return a.Squeeze(), err
		}
		if c.format == MAT73 {
			m.name = strings.TrimPrefix(e.Name, "/")
			slices.Reverse(m.shape)
			m.load = func() (array.Array, error) {
				a, err := hdf5.Read(c.file, e.Name)
				if err != nil {
					return a, err
				}
				a = a.Squeeze()
				return array.Array{Shape: m.shape, Data: array.FromColumnMajor(a.Data, m.shape)}, nil
			}
		}
		c.matrices = append(c.matrices, m)
	}
	return nil
}

// numeric says whether a dtype as numpy spells it is of real numbers.
func numeric(dtype string) bool {
	return len(dtype) == 3 && strings.ContainsRune("<>|", rune(dtype[0])) && strings.ContainsRune("fiu", rune(dtype[1]))
}

// isMatrix says whether an array can be a series; MATLAB's single numbers and vectors have axes of length 1.
func isMatrix(shape []int) bool { return len(shape) >= 2 && slices.Min(shape) > 1 }

func squeezed(shape []int) []int { return array.Array{Shape: shape}.Squeeze().Shape }

// matClasses are the classes of MATLAB's variables that hold real numbers.
var matClasses = []string{"double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical"}

func (c *content) openMAT() error {
	entries, err := mat.List(c.file)
	if err != nil {
		return err
	}
	for _, e := range entries {
		shape := squeezed(e.Shape)
		if !isMatrix(shape) || !slices.Contains(matClasses, e.Class) {
			c.others = append(c.others, fmt.Sprintf("%s %v %s", e.Name, e.Shape, e.Class))
			continue
		}
		c.matrices = append(c.matrices, matrix{name: e.Name, shape: shape, load: func() (array.Array, error) {
			a, err := mat.ReadVariable(c.file, e.Name)
			return a.Squeeze(), err
		}})
	}
	return nil
}

func (c *content) openNPY() error {
	entries, err := npy.List(c.file)
	if err != nil {
		return err
	}
	for _, e := range entries {
		shape := squeezed(e.Shape)
		numbers := numeric(e.DType) || strings.HasSuffix(e.DType, "b1")
		if !numbers && c.format == NPY {
			_, err := npy.Read(c.file) // it says what to do about this dtype
			return err
		}
		if !isMatrix(shape) || !numbers {
			c.others = append(c.others, strings.TrimSpace(fmt.Sprintf("%s %v of dtype %s", e.Name, e.Shape, e.DType)))
			continue
		}
		names, from, err := namesBeside(c.file)
		if err != nil {
			return err
		}
		c.matrices = append(c.matrices, matrix{name: e.Name, shape: shape, names: names, namesFrom: from, load: func() (array.Array, error) {
			if c.format == NPY {
				a, err := npy.Read(c.file)
				return a.Squeeze(), err
			}
			a, err := npy.ReadMember(c.file, e.Name)
			return a.Squeeze(), err
		}})
	}
	return nil
}

func (c *content) openText() error {
	t, err := text.Read(c.file)
	if err != nil {
		return err
	}
	m := matrix{shape: t.Shape, namesFrom: c.file, load: func() (array.Array, error) { return t.Array, nil }}
	switch {
	case t.Columns != nil:
		m.names, m.axes, m.index = t.Columns, []Axis{FrameAxis, TokenAxis}, indexColumn(t)
	case t.Rows != nil:
		m.names, m.axes = t.Rows, []Axis{TokenAxis, FrameAxis}
	}
	c.matrices = []matrix{m}
	return nil
}

func (c *content) openCIFTI(o Options) error {
	image, err := cifti.ReadHeader(c.file)
	if err != nil {
		return err
	}
	shape := []int{image.Axes[0].Length, image.Axes[1].Length} // as nibabel shows it
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
					sides[i] = "" // it lies in both
				}
			}
		}
		c.matrices = []matrix{{shape: shape, axes: []Axis{FrameAxis, TokenAxis}, names: names, namesFrom: c.file, sides: sides, load: c.loadCIFTI}}
		return nil
	case cifti.Dtseries:
		c.format = DTSeries
		if o.Parcels != "" {
			return c.openDense(o)
		}
		m := matrix{shape: shape, axes: []Axis{FrameAxis, TokenAxis}, dense: true, load: c.loadCIFTI}
		for _, model := range image.Axes[1].Models {
			m.sides = append(m.sides, slices.Repeat([]string{sideOf(model.Structure)}, model.Count)...)
		}
		c.matrices = []matrix{m}
		return nil
	}
	return fmt.Errorf("%s: a CIFTI file of kind %s; a series is a ptseries.nii, or a dtseries.nii with a parcellation", c.file, image.Kind)
}

// sideOf returns a name that package partition takes for that of a hemisphere.
func sideOf(structure string) string {
	switch {
	case strings.HasSuffix(structure, "_LEFT"):
		return "L"
	case strings.HasSuffix(structure, "_RIGHT"):
		return "R"
	}
	return ""
}

// loadCIFTI reads the numbers as nibabel shows them.
func (c *content) loadCIFTI() (array.Array, error) {
	image, err := cifti.Read(c.file)
	if err != nil {
		return array.Array{}, err
	}
	return image.Data.Transpose(), nil
}

// openDense averages a dense series within the parcels of the options.
func (c *content) openDense(o Options) error {
	series, err := cifti.Read(c.file)
	if err != nil {
		return err
	}
	labels, err := cifti.Read(o.Parcels)
	if err != nil {
		return err
	}
	p, err := cifti.ParcellateMap(series, labels, o.ParcelMap)
	if err != nil {
		return err
	}
	values := p.Values.Transpose()
	c.matrices = []matrix{{shape: values.Shape, axes: []Axis{FrameAxis, TokenAxis}, names: p.Names, namesFrom: o.Parcels,
		sides: sidesOf(labels, p.Keys, o.ParcelMap), load: func() (array.Array, error) { return values, nil }}}
	return nil
}

// sidesOf returns the hemisphere in which all vertices of a label lie, or nothing, for the labels with these keys.
func sidesOf(labels *cifti.Image, keys []int, mapName string) []string {
	column := 0
	for i, m := range labels.Axes[0].Maps {
		if mapName != "" && m.Name == mapName {
			column = i
		}
	}
	of := make(map[int]string, len(keys)) // by key
	for _, model := range labels.Axes[1].Models {
		side := sideOf(model.Structure)
		for i := range model.Count {
			key := int(labels.Data.Data[(model.Offset+i)*labels.Axes[0].Length+column])
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

// choose returns the matrices that the options name, in the order of their names in the file; the only one where none is.
func (c *content) choose(datasets []string) ([]matrix, error) {
	if len(datasets) > 0 && slices.Contains([]Format{NPY, Text, PTSeries, DTSeries}, c.format) {
		return nil, fmt.Errorf("%s (%s): --dataset names %s, but this file holds one array, which has no name: leave --dataset out", c.file, c.format, strings.Join(datasets, ", "))
	}
	if len(datasets) == 0 {
		switch len(c.matrices) {
		case 1:
			return c.matrices, nil
		case 0:
			return nil, fmt.Errorf("%s (%s): it holds no matrix of numbers%s", c.file, c.format, c.listed())
		}
		return nil, fmt.Errorf("%s (%s): it holds %d matrices: say which with --dataset%s", c.file, c.format, len(c.matrices), c.listed())
	}
	var chosen []matrix
	for _, pattern := range datasets {
		n := len(chosen)
		for _, m := range c.matrices {
			ok, err := path.Match(strings.Trim(pattern, "/"), strings.Trim(m.name, "/"))
			if err != nil {
				return nil, fmt.Errorf("--dataset %q: %w", pattern, err)
			}
			if ok && !slices.ContainsFunc(chosen, func(c matrix) bool { return c.name == m.name }) {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("%s (%s): it holds no matrix of numbers named %q%s", c.file, c.format, pattern, c.listed())
		}
	}
	return chosen, nil
}

// listed describes what the file holds.
func (c *content) listed() string {
	var all []string
	for _, m := range c.matrices {
		all = append(all, fmt.Sprintf("%s %v", m.name, m.shape))
	}
	all = append(all, c.others...)
	if len(all) == 0 {
		return ""
	}
	const most = 12
	shown := strings.Join(all[:min(len(all), most)], ", ")
	if len(all) > most {
		shown += ", ..."
	}
	return "; it holds " + shown
}
