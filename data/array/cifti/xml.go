package cifti

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// parser walks the XML. Each element has a function that knows the elements it may contain and
// refuses others, as Workbench does, so that the depth of the text is bounded by the format and not
// by the file.
type parser struct {
	d *xml.Decoder
}

// newParser returns a parser of a text without its fill of zeros.
func newParser(text []byte) *parser {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	d.CharsetReader = func(name string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("is encoded in %q; only UTF-8, which CIFTI-2 asks for, is read",
			clip(name))
	}
	return &parser{d}
}

// token returns the next tag or text. encoding/xml expands no entities but XML's own five and reads
// nothing from elsewhere; a DOCTYPE, which could declare others, is refused all the same, so that
// no file means more than it shows.
func (p *parser) token() (xml.Token, error) {
	for {
		t, err := p.d.Token()
		var syntax *xml.SyntaxError
		switch {
		case errors.As(err, &syntax):
			return nil, fmt.Errorf("line %d: %s: could the file be damaged?", syntax.Line,
				clip(syntax.Msg))
		case err != nil:
			return nil, err // io.EOF, or an encoding that is not UTF-8
		}
		switch t.(type) {
		case xml.Directive:
			line, _ := p.d.InputPos()
			return nil, fmt.Errorf("line %d: a DOCTYPE or other declaration; CIFTI has none, and "+
				"it is refused because it could define entities", line)
		case xml.StartElement, xml.EndElement, xml.CharData:
			return t, nil
		}
	}
}

// each calls f at each element within parent, whose start was read; f reads to the element's end.
func (p *parser) each(parent string, f func(xml.StartElement) error) error {
	for {
		t, err := p.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := f(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		case xml.CharData:
			if text := bytes.TrimSpace(t); len(text) > 0 {
				return fmt.Errorf("the text %q in %s, which has none", clip(string(text)), parent)
			}
		}
	}
}

// unexpected refuses an element.
func (p *parser) unexpected(e xml.StartElement, parent string) error {
	line, _ := p.d.InputPos()
	return fmt.Errorf("line %d: the element %q has no place in %s", line, clip(e.Name.Local),
		parent)
}

// empty reads to the end of an element that contains nothing.
func (p *parser) empty(e xml.StartElement) error {
	return p.each(e.Name.Local,
		func(c xml.StartElement) error { return p.unexpected(c, e.Name.Local) })
}

// text reads to the end of an element that contains text only.
func (p *parser) text(e xml.StartElement) ([]byte, error) {
	var b []byte
	for {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			return nil, p.unexpected(t, e.Name.Local)
		case xml.EndElement:
			return bytes.TrimSpace(b), nil
		case xml.CharData:
			b = append(b, t...)
		}
	}
}

// indices reads the integers that an element contains, which are not negative.
func (p *parser) indices(e xml.StartElement) ([]int32, error) {
	b, err := p.text(e)
	if err != nil {
		return nil, err
	}
	n := 0
	for range bytes.FieldsSeq(b) {
		n++
	}
	list := make([]int32, 0, n)
	for f := range bytes.FieldsSeq(b) {
		v, err := strconv.ParseInt(string(f), 10, 32)
		if err != nil || v < 0 {
			return nil, fmt.Errorf("%s: %q is not an index from 0 to 2^31-1", e.Name.Local,
				clip(string(f)))
		}
		list = append(list, int32(v))
	}
	return list, nil
}

// voxels reads the triples that a VoxelIndicesIJK contains.
func (p *parser) voxels(e xml.StartElement) ([][3]int32, error) {
	list, err := p.indices(e)
	if err != nil {
		return nil, err
	}
	if len(list)%3 != 0 {
		return nil, fmt.Errorf("VoxelIndicesIJK: %d numbers are no triples", len(list))
	}
	voxels := make([][3]int32, len(list)/3)
	for i := range voxels {
		voxels[i] = [3]int32(list[3*i:])
	}
	return voxels, nil
}

// attributes reads the attributes of an element and keeps the first error.
type attributes struct {
	e   xml.StartElement
	err error
}

// text returns an attribute that must be there once.
func (a *attributes) text(name string) string {
	value, n := "", 0
	for _, x := range a.e.Attr {
		if x.Name.Local == name {
			value = x.Value
			n++
		}
	}
	if n != 1 && a.err == nil {
		a.err = fmt.Errorf("%s has %d attributes %s, not one", a.e.Name.Local, n, name)
	}
	return value
}

// integer returns an attribute that is an integer from least to most.
func (a *attributes) integer(name string, least, most int) int {
	s := a.text(name)
	v, err := strconv.Atoi(strings.TrimSpace(s))
	if (err != nil || v < least || v > most) && a.err == nil {
		a.err = fmt.Errorf("%s: %s is %q, not an integer from %d to %d", a.e.Name.Local, name,
			clip(s), least, most)
	}
	return v
}

// real returns an attribute that is a finite number.
func (a *attributes) real(name string) float64 {
	v, err := finite(a.text(name))
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s: %s is %w", a.e.Name.Local, name, err)
	}
	return v
}

// finite parses a finite number.
func finite(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q, not a finite number", clip(s))
	}
	return v, nil
}

// root reads to the CIFTI element and checks its version.
func (p *parser) root() error {
	for {
		t, err := p.token()
		if errors.Is(err, io.EOF) {
			return errors.New(
				"the CIFTI extension has no CIFTI element: could the file be damaged?")
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local != "CIFTI" {
				return p.unexpected(t, "the place of CIFTI")
			}
			a := attributes{e: t}
			version := a.text("Version")
			if a.err != nil {
				return a.err
			}
			return checkVersion(version)
		case xml.CharData:
			if text := bytes.TrimSpace(t); len(text) > 0 {
				return fmt.Errorf("the text %q before the CIFTI element: could the file be "+
					"damaged?", clip(string(text)))
			}
		}
	}
}

// checkVersion takes 2 and 2.x.
func checkVersion(version string) error {
	switch major, _, _ := strings.Cut(strings.TrimSpace(version), "."); major {
	case "2":
		return nil
	case "1":
		return fmt.Errorf("a CIFTI-1 file (version %q); only CIFTI-2 is read, so convert it with "+
			"`wb_command -file-convert -cifti-version-convert IN 2 OUT`", clip(version))
	}
	return fmt.Errorf("CIFTI version %q; only CIFTI-2 is read", clip(version))
}

// matrix reads the rest of the text into m, whose axes have their lengths from the header.
func (p *parser) matrix(m *Image) error {
	matrices := 0
	err := p.each("CIFTI", func(e xml.StartElement) error {
		if matrices++; e.Name.Local != "Matrix" || matrices > 1 {
			return p.unexpected(e, "CIFTI")
		}
		return p.each("Matrix", func(e xml.StartElement) error {
			switch e.Name.Local {
			case "MetaData":
				return p.metadata(&m.Metadata)
			case "MatrixIndicesMap":
				return p.indicesMap(e, m)
			}
			return p.unexpected(e, "Matrix")
		})
	})
	if err != nil {
		return err
	}
	for i, a := range m.Axes {
		if a.Kind == "" {
			return fmt.Errorf("no MatrixIndicesMap applies to dimension %d", i)
		}
	}
	t, err := p.token()
	for err == nil {
		if text, ok := t.(xml.CharData); !ok || len(bytes.TrimSpace(text)) > 0 {
			return errors.New("more after the end of the CIFTI element: could the file be damaged?")
		}
		t, err = p.token()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// metadata reads a MetaData element. Of a name that is there twice the last counts, as in nibabel.
func (p *parser) metadata(into *map[string]string) error {
	return p.each("MetaData", func(e xml.StartElement) error {
		if e.Name.Local != "MD" {
			return p.unexpected(e, "MetaData")
		}
		var name, value []byte
		err := p.each("MD", func(e xml.StartElement) (err error) {
			switch e.Name.Local {
			case "Name":
				name, err = p.text(e)
			case "Value":
				value, err = p.text(e)
			default:
				err = p.unexpected(e, "MD")
			}
			return err
		})
		if err == nil {
			if *into == nil {
				*into = map[string]string{}
			}
			(*into)[string(name)] = string(value)
		}
		return err
	})
}
