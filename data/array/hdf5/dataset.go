package hdf5

import (
	"errors"
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
func (f *file) entry(path string, messages []message) (e Entry, ok bool) {
	e = Entry{Name: path, DType: "damaged", Attributes: map[string]string{}}
	space, err := array.Try(func() []byte { return f.find(messages, msgDataspace) })
	layout, _ := array.Try(func() []byte { return f.find(messages, msgLayout) })
	if err != nil || space == nil || layout == nil {
		return e, err != nil
	}
	e.Shape, err = array.Try(func() []int { return f.cursor(space, "dataspace").dataspace() })
	if err != nil {
		return e, true
	}
	t, err := array.Try(func() *datatype {
		return f.cursor(f.find(messages, msgDatatype), "datatype").datatype(0)
	})
	if err == nil {
		e.DType = t.dtype
	}
	e.Attributes, err = array.Try(func() map[string]string { return f.attributes(messages) })
	if err != nil {
		e.DType = "damaged"
	}
	return e, true
}

// attributes returns the attributes that attribute can read, from messages or from the heap that they
// point to.
func (f *file) attributes(messages []message) map[string]string {
	all := map[string]string{}
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
			f.dense(c, func(heap *fractalHeap, record []byte) {
				id := record[:min(8, len(record))]
				if data, err := array.Try(func() []byte { return heap.object(id) }); err == nil {
					add(data)
				}
			})
		}
	}
	return all
}

// attribute takes an attribute message that holds one text of fixed length or one real number. Those
// of netCDF's conventions may hold several numbers, with spaces between them in text; text is
// unreadable where they hold something else.
func (f *file) attribute(data []byte) (name, text string, ok bool) {
	text, err := array.Try(func() string {
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
			array.Fail(errAttribute)
		}
		if version > 1 && flags != 0 { // a shared datatype or dataspace
			array.Fail(errAttribute)
		}
		part := func(n int) *cursor { return f.cursor(c.take(padded(n)), "attribute") }
		name = part(nameBytes).text()
		t, shape := part(typeBytes).datatype(0), part(spaceBytes).dataspace()
		return c.attribute(t, shape, slices.Contains(conventions, name))
	})
	if err != nil && slices.Contains(conventions, name) {
		return name, unreadable, true
	}
	return name, text, err == nil
}

// errAttribute ends the reading of an attribute that is left out.
var errAttribute = errors.New("an attribute that is not read")

// attribute takes the value of an attribute.
func (c *cursor) attribute(t *datatype, shape []int, isConvention bool) string {
	most := 1
	if isConvention {
		most = 16
	}
	n := array.Got(array.Count(shape, 1))
	if t.class != classText && !t.isReal() || n < 1 || n > most || n > 1 && !t.isReal() ||
		t.bytes > c.left()/n {
		array.Fail(errAttribute)
	}
	b := c.take(n * t.bytes)
	if !t.isReal() {
		return strings.TrimRight(string(b), "\x00 ")
	}
	var numbers []string
	for one := range slices.Chunk(b, t.bytes) {
		if v, err := t.get(one); err == nil { // or no number that is read equals it
			numbers = append(numbers, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return strings.Join(numbers, " ")
}

// dataset finds the dataset at a path.
func (f *file) dataset(path string) *dataset {
	messages := f.lookup(path)
	if isGroup(messages) {
		array.Failf("it is a group: choose one of its datasets: %w",
			f.missing(path, "", f.links(messages)))
	}
	d := &dataset{f: f, attributes: f.attributes(messages)}
	part := func(kind int, what string) []byte {
		data := f.find(messages, kind)
		if data == nil {
			array.Failf("it has no %s, so it is not a dataset", what)
		}
		return data
	}
	space, kind := part(msgDataspace, "dataspace"), part(msgDatatype, "datatype")
	d.layout = part(msgLayout, "layout")
	pipeline, fill := f.find(messages, msgFilters), f.find(messages, msgFill)
	if f.find(messages, msgExternal) != nil {
		array.Failf("its numbers are in other files (external storage), which cannot " +
			"be read: store its numbers with h5py (as a dataset of x[...])")
	}
	d.shape = f.cursor(space, "dataspace").dataspace()
	d.t = f.cursor(kind, "datatype").datatype(0)
	d.count = array.Got(array.Count(d.shape, max(8, d.t.bytes)))
	if pipeline != nil {
		d.filters = f.cursor(pipeline, "filters").filters()
	}
	if fill != nil {
		d.fill = f.cursor(fill, "fill value").fillValue()
	}
	return d
}

// fillValue takes a fill value message.
func (c *cursor) fillValue() []byte {
	version, defined := c.u8(), false
	switch version {
	case 1, 2:
		c.skip(2)
		defined = c.u8() != 0
	case 3:
		defined = c.u8()&0x20 != 0
	default:
		array.Failf("its fill value has version %d; versions 1 to 3 can be read", version)
	}
	if !defined {
		return nil
	}
	size := c.u32()
	if size > uint32(len(c.b)) {
		array.FailDamaged("its fill value claims %d bytes", size)
	}
	return c.take(int(size))
}

// read reads a dataset of real numbers or, where realParts says so, the real parts of complex ones.
func (f *file) read(name string, realParts bool) array.Array {
	defer array.Within("dataset %q", name)
	d := f.dataset(name)
	d.number = d.t
	switch {
	case d.t.re != nil && realParts:
		d.number, d.at = d.t.re, d.t.reAt
	case d.t.re != nil:
		array.Failf("it holds complex numbers (%s); real ones are expected", d.t.dtype)
	case !d.t.isReal():
		array.Failf("it holds %s; integers of 8 to 64 bits and floats of 16, 32 and 64 bits can "+
			"be read", d.t.dtype)
	}
	d.checkPacked()
	d.readAll()
	d.markMissing()
	d.checkRange()
	return array.Array{Name: name, Shape: d.shape, Data: d.data}
}

// The attributes of the netCDF conventions (docs.unidata.ucar.edu/nug, "Attribute Conventions") that
// change what numbers mean.
var conventions = []string{"scale_factor", "add_offset", "_Unsigned", "_FillValue", "missing_value",
	"valid_min", "valid_max", "valid_range"}

const unreadable = "neither text nor numbers"

// checkPacked fails where other numbers are meant than those that are stored.
func (d *dataset) checkPacked() {
	for name, neutral := range map[string]float64{"scale_factor": 1, "add_offset": 0} {
		text, given := d.attributes[name]
		if v, err := strconv.ParseFloat(text, 64); given && (err != nil || v != neutral) {
			if err == nil {
				text = fmt.Sprint(v)
			}
			array.Failf("its numbers are packed: its attribute %s is %s (netCDF's conventions). "+
				"Store them unpacked, as xarray and netCDF4 return them, such as in .npy", name, array.Printable(text))
		}
	}
	text := d.attributes["_Unsigned"]
	isOther := d.number.signed == strings.EqualFold(text, "true") || text == unreadable
	if t := d.number; t.class == classInteger && isOther && text != "" {
		array.Failf("its attribute _Unsigned is %s, and it holds %s (netCDF's conventions): store "+
			"its numbers as xarray and netCDF4 return them, such as in .npy",
			array.Printable(text), t.dtype)
	}
}

// markMissing puts NaN for the numbers that the attributes _FillValue and missing_value call missing.
// Those are compared in the precision of the dataset, as numpy does.
func (d *dataset) markMissing() {
	for _, name := range []string{"_FillValue", "missing_value"} {
		for text := range strings.FieldsSeq(d.attributes[name]) {
			missing, err := strconv.ParseFloat(text, 64)
			if err != nil {
				array.Failf("its attribute %s is %s, which says no number that is missing: delete it or "+
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
}

// checkRange fails for numbers outside the attributes valid_min, valid_max and valid_range. Some libraries take these
// numbers for missing, as netCDF4 does, and others do not, as xarray.
func (d *dataset) checkRange() {
	for _, name := range []string{"valid_min", "valid_max", "valid_range"} {
		bounds := strings.Fields(d.attributes[name])
		if len(bounds) == 0 {
			continue
		}
		low, errLow := strconv.ParseFloat(bounds[0], 64)
		high, errHigh := strconv.ParseFloat(bounds[len(bounds)-1], 64)
		if errLow != nil || errHigh != nil || (len(bounds) == 2) != (name == "valid_range") {
			continue // such as a text
		}
		for _, v := range d.data {
			if name != "valid_max" && v < low || name != "valid_min" && v > high {
				array.Failf("its attribute %s is %s, but it holds %v: put NaN for numbers outside if they are "+
					"missing, or delete the attribute", name, d.attributes[name], v)
			}
		}
	}
}

// readReferences returns the addresses that a dataset of object references holds.
func (f *file) readReferences(name string) []float64 {
	defer array.Within("dataset %q", name)
	d := f.dataset(name)
	if d.t.class != classReference || d.t.bytes != 8 || f.offsetBytes != 8 {
		array.Failf("it holds %s of %d bytes; references of 8 bytes to objects can be followed",
			d.t.dtype, d.t.bytes)
	}
	d.number = &datatype{class: classInteger, bytes: 8, exact: true}
	d.readAll()
	return d.data
}

// readAll reads all elements.
func (d *dataset) readAll() {
	if len(d.fill) != 0 && len(d.fill) != d.t.bytes {
		array.FailDamaged("its fill value has %d bytes, its elements %d", len(d.fill), d.t.bytes)
	}
	if d.count == 0 {
		d.data = []float64{}
		return
	}
	d.load()
}

// store takes the elements in b, whose first is the i-th of the dataset.
func (d *dataset) store(i int, b []byte) {
	t := d.number
	if t.class == classFloat && t.bytes == 8 && !t.big && d.t.bytes == 8 {
		for j := range len(b) / 8 {
			d.data[i+j] = math.Float64frombits(le64(b[8*j:]))
		}
		return
	}
	for j := range len(b) / d.t.bytes {
		at := j*d.t.bytes + d.at
		v, err := t.get(b[at : at+t.bytes])
		if err != nil {
			array.Failf("the element at index %v %w", array.Index(i+j, d.shape, false), err)
		}
		d.data[i+j] = v
	}
}
