package hdf5

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
)

// dataset is the header of a dataset.
type dataset struct {
	f       *file
	shape   []int
	most    []int // the shape up to which it may grow; 0 for without end
	t       *datatype
	count   int // elements
	filters []filter
	fill    []byte // of one element that was never written; empty for zero
	layout  []byte
	// attributes are the result of the method of this name.
	attributes map[string]string

	number *datatype // the part of an element that is read
	at     int       // its offset in the element
	data   []float64 // what was read

	inflated, unshuffled []byte // buffers for a chunk
}

// entry describes a dataset by its messages; ok is false for an object of another kind, such as a
// named datatype.
func (f *file) entry(path string, messages []message) (Entry, bool) {
	e := Entry{Name: path, DType: "damaged", Attributes: map[string]string{}}
	space, ok, err := f.find(messages, msgDataspace)
	if _, has, _ := f.find(messages, msgLayout); !ok || !has || err != nil {
		return e, err != nil
	}
	if e.Shape, _, err = f.cursor(space, "dataspace").dataspace(); err != nil {
		return e, true
	}
	if data, ok, err := f.find(messages, msgDatatype); ok && err == nil {
		if t, err := f.cursor(data, "datatype").datatype(0); err == nil {
			e.DType = t.dtype
		}
	}
	if e.Attributes, err = f.attributes(messages); err != nil {
		e.DType = "damaged"
	}
	return e, true
}

// attributes returns the attributes that attribute can read, from messages or from the heap that they
// point to.
func (f *file) attributes(messages []message) (all map[string]string, err error) {
	all = map[string]string{}
	add := func(data []byte) {
		if name, text, ok := f.attribute(data); ok {
			all[name] = text
		}
	}
	for _, m := range messages {
		switch m.kind {
		case msgAttribute:
			add(m.data)
		case msgAttributes:
			c := f.cursor(m.data, "attribute info")
			c.skip(1)
			if c.u8()&1 != 0 {
				c.skip(2)
			}
			err = f.dense(c, func(heap *fractalHeap, record []byte) error {
				if data, err := heap.object(record[:min(8, len(record))]); err == nil {
					add(data)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// attribute takes an attribute message that holds one text of fixed length or one real number. Those
// of netCDF's conventions may hold several numbers, with spaces between them in text; text is
// unreadable where they hold something else.
func (f *file) attribute(data []byte) (name, text string, ok bool) {
	c := f.cursor(data, "attribute")
	version, flags := c.u8(), c.u8()
	nameBytes, typeBytes, spaceBytes := c.u16(), c.u16(), c.u16()
	padded := func(n int) int { return n }
	switch version {
	case 1:
		padded = func(n int) int { return (n + 7) / 8 * 8 }
	case 3:
		c.skip(1)
	case 2:
	default:
		return "", "", false
	}
	if version > 1 && flags != 0 {
		return "", "", false // a shared datatype or dataspace
	}
	part := func(n int) *cursor { return f.cursor(c.take(padded(n)), "attribute") }
	name = part(nameBytes).text()
	most := 1
	if slices.Contains(conventions, name) {
		most = 16
		defer func() {
			if !ok {
				text, ok = unreadable, true
			}
		}()
	}
	t, err := part(typeBytes).datatype(0)
	if err != nil || t.class != classText && !t.isReal() {
		return name, "", false
	}
	shape, _, err := part(spaceBytes).dataspace()
	n, e := array.Count(shape, 1)
	if err != nil || e != nil || n < 1 || n > most || n > 1 && !t.isReal() || t.bytes > c.left()/n {
		return name, "", false
	}
	b := c.take(n * t.bytes)
	if t.isReal() && c.err == nil {
		var numbers []string
		for one := range slices.Chunk(b, t.bytes) {
			if v, err := t.get(one); err == nil { // or no number that is read equals it
				numbers = append(numbers, strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		return name, strings.Join(numbers, " "), true
	}
	for len(b) > 0 && (b[len(b)-1] == 0 || b[len(b)-1] == ' ') {
		b = b[:len(b)-1]
	}
	return name, string(b), c.err == nil
}

// dataset finds the dataset at a path.
func (f *file) dataset(path string) (*dataset, error) {
	messages, err := f.lookup(path)
	if err != nil {
		return nil, err
	}
	if isGroup(messages) {
		links, err := f.links(messages)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("it is a group: name one of its datasets: %w",
			f.missing(path, "", links))
	}
	d := &dataset{f: f}
	d.attributes, err = f.attributes(messages)
	part := func(kind int, what string, required bool) []byte {
		if err != nil {
			return nil
		}
		data, ok, e := f.find(messages, kind)
		if err = e; e == nil && !ok && required {
			err = fmt.Errorf("it has no %s, so it is no dataset", what)
		}
		return data
	}
	space, kind := part(msgDataspace, "dataspace", true), part(msgDatatype, "datatype", true)
	d.layout = part(msgLayout, "layout", true)
	pipeline, fill, external := part(msgFilters, "filters", false),
		part(msgFill, "fill value", false), part(msgExternal, "external files", false)
	if err != nil {
		return nil, err
	}
	if external != nil {
		return nil, fmt.Errorf("its numbers lie in other files (external storage), which cannot " +
			"be read: store its numbers with h5py (as a dataset of x[...])")
	}
	if d.shape, d.most, err = f.cursor(space, "dataspace").dataspace(); err != nil {
		return nil, err
	}
	if d.t, err = f.cursor(kind, "datatype").datatype(0); err != nil {
		return nil, err
	}
	if d.count, err = array.Count(d.shape, max(8, d.t.bytes)); err != nil {
		return nil, err
	}
	if pipeline != nil {
		if d.filters, err = f.cursor(pipeline, "filters").filters(); err != nil {
			return nil, err
		}
	}
	d.fill, err = f.fillValue(fill)
	return d, err
}

// fillValue takes a fill value message.
func (f *file) fillValue(data []byte) ([]byte, error) {
	if data == nil {
		return nil, nil
	}
	c := f.cursor(data, "fill value")
	version := c.u8()
	var defined bool
	switch version {
	case 1, 2:
		c.skip(2)
		defined = c.u8() != 0
		if version == 1 && !defined {
			return nil, c.err
		}
	case 3:
		defined = c.u8()&0x20 != 0
	default:
		return nil, fmt.Errorf("its fill value has version %d; versions 1 to 3 can be read",
			version)
	}
	if !defined {
		return nil, c.err
	}
	size := c.u32()
	if size > uint32(len(data)) {
		return nil, array.Damaged("its fill value claims %d bytes", size)
	}
	return c.take(int(size)), c.err
}

// named puts a dataset's name before an error.
func named(name string, err error) error { return fmt.Errorf("dataset %q: %w", name, err) }

// read reads a dataset of real numbers or, where realParts says so, the real parts of complex ones.
func (f *file) read(name string, realParts bool) (array.Array, error) {
	d, err := f.dataset(name)
	if err != nil {
		return array.Array{}, named(name, err)
	}
	d.number = d.t
	switch {
	case d.t.re != nil && realParts:
		d.number, d.at = d.t.re, d.t.reAt
	case d.t.re != nil:
		err = fmt.Errorf("it holds complex numbers (%s); real ones are expected", d.t.dtype)
	case !d.t.isReal():
		err = fmt.Errorf("it holds %s; integers of 8 to 64 bits and floats of 16, 32 and 64 bits can "+
			"be read", d.t.dtype)
	}
	if err == nil {
		err = d.checkPacked()
	}
	if err == nil {
		err = d.readAll()
	}
	if err == nil {
		err = d.markMissing()
	}
	if err != nil {
		return array.Array{}, named(name, err)
	}
	return array.Array{Name: name, Shape: d.shape, Data: d.data}, nil
}

// The attributes of the netCDF conventions (docs.unidata.ucar.edu/nug, "Attribute Conventions") that
// change what numbers mean.
var conventions = []string{"scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value"}

const unreadable = "neither text nor numbers"

// checkPacked returns an error where other numbers are meant than those that are stored.
func (d *dataset) checkPacked() error {
	for name, neutral := range map[string]float64{"scale_factor": 1, "add_offset": 0} {
		text, given := d.attributes[name]
		if v, err := strconv.ParseFloat(text, 64); given && (err != nil || v != neutral) {
			if err == nil {
				text = fmt.Sprint(v)
			}
			return fmt.Errorf("its numbers are packed: its attribute %s is %s (netCDF's conventions). "+
				"Store them unpacked, as xarray and netCDF4 return them, such as in .npy", name, array.Printable(text))
		}
	}
	unsigned := strings.EqualFold(d.attributes["_Unsigned"], "true")
	if t := d.number; t.class == classInteger && t.signed == unsigned && d.attributes["_Unsigned"] != "" {
		return fmt.Errorf("its attribute _Unsigned is %s, and it holds %s (netCDF's conventions): store "+
			"its numbers as xarray and netCDF4 return them, such as in .npy",
			array.Printable(d.attributes["_Unsigned"]), t.dtype)
	}
	return nil
}

// markMissing puts NaN for the numbers that the attributes _FillValue and missing_value call missing.
// Those are compared in the precision of the dataset, as numpy does.
func (d *dataset) markMissing() error {
	for _, name := range []string{"_FillValue", "missing_value"} {
		for text := range strings.FieldsSeq(d.attributes[name]) {
			missing, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("its attribute %s is %s, which says no number that is missing: delete it or "+
					"make it a number", name, array.Printable(d.attributes[name]))
			}
			if d.number.class == classFloat && d.number.bytes == 4 {
				missing = float64(float32(missing))
			}
			for i, v := range d.data {
				if v == missing {
					d.data[i] = math.NaN()
				}
			}
		}
	}
	return nil
}

// readReferences returns the addresses that a dataset of object references holds.
func (f *file) readReferences(name string) (addresses []float64, err error) {
	d, err := f.dataset(name)
	if err != nil {
		return nil, named(name, err)
	}
	if d.t.class != classReference || d.t.bytes != 8 || f.offsetBytes != 8 {
		return nil, named(name, fmt.Errorf("it holds %s of %d bytes; references of 8 bytes to objects can be "+
			"followed", d.t.dtype, d.t.bytes))
	}
	d.number = &datatype{class: classInteger, bytes: 8, exact: true}
	if err := d.readAll(); err != nil {
		return nil, named(name, err)
	}
	return d.data, nil
}

// readAll reads all elements.
func (d *dataset) readAll() error {
	if len(d.fill) != 0 && len(d.fill) != d.t.bytes {
		return array.Damaged("its fill value has %d bytes, its elements %d", len(d.fill),
			d.t.bytes)
	}
	if d.count == 0 {
		d.data = []float64{}
		return nil
	}
	return d.load()
}

// store takes the elements in b, whose first is the i-th of the dataset.
func (d *dataset) store(i int, b []byte) error {
	t := d.number
	if t.class == classFloat && t.bytes == 8 && !t.big && d.t.bytes == 8 {
		for j := range len(b) / 8 {
			d.data[i+j] = math.Float64frombits(le64(b[8*j:]))
		}
		return nil
	}
	for j := range len(b) / d.t.bytes {
		at := j*d.t.bytes + d.at
		v, err := t.get(b[at : at+t.bytes])
		if err != nil {
			return fmt.Errorf("the element at index %v %w", array.Index(i+j, d.shape, false), err)
		}
		d.data[i+j] = v
	}
	return nil
}
