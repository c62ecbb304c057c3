package page

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// image is an embedded drawing with its size on the page in CSS pixels, which is 0 if the drawing has no
// size.
type image struct {
	Source        template.URL
	Width, Height int
}

// figureScale enlarges figures, because a paper's 7-point labels are too small on a screen.
const figureScale = 1.3

// inline returns an SVG as an image element's source. Unlike an SVG in the page, its IDs and styles cannot
// clash with others, and it cannot run scripts or load files.
func inline(svg []byte) (image, error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	var root *xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return image{}, fmt.Errorf("its SVG is not XML: %w", err)
		}
		if e, ok := token.(xml.StartElement); ok && root == nil {
			e = e.Copy()
			root = &e
		}
	}
	if root == nil || root.Name.Local != "svg" {
		return image{}, errors.New("it has no SVG: the first element is not <svg>")
	}
	width, height := svgSize(root)
	return image{
		Source: template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)),
		Width:  int(math.Round(width * figureScale)), Height: int(math.Round(height * figureScale)),
	}, nil
}

var svgLength = regexp.MustCompile(`^\s*([0-9]*\.?[0-9]+)\s*(px|pt|pc|in|mm|cm)?\s*$`)

var pixels = map[string]float64{"": 1, "px": 1, "pt": 96. / 72, "pc": 16, "in": 96, "mm": 96 / 25.4,
	"cm": 96 / 2.54}

// svgSize returns the size of a drawing in CSS pixels from its width and height or its view box, or 0 if
// it has neither.
func svgSize(root *xml.StartElement) (width, height float64) {
	const largest = 1e4
	var box []string
	for _, a := range root.Attr {
		length := 0.
		if m := svgLength.FindStringSubmatch(a.Value); m != nil {
			v, _ := strconv.ParseFloat(m[1], 64) // 0 on error
			length = v * pixels[m[2]]
		}
		switch a.Name.Local {
		case "width":
			width = length
		case "height":
			height = length
		case "viewBox":
			box = strings.FieldsFunc(a.Value,
				func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
		}
	}
	if (width <= 0 || height <= 0) && len(box) == 4 {
		width, _ = strconv.ParseFloat(box[2], 64)
		height, _ = strconv.ParseFloat(box[3], 64)
	}
	if !(width > 0 && height > 0 && width < largest && height < largest) {
		return 0, 0
	}
	return width, height
}

// tableAttributes maps the elements of a table to the attributes that each may have.
var tableAttributes = map[string]string{
	"table": "", "caption": "", "thead": "", "tbody": "", "tfoot": "", "tr": "",
	"th": "scope class", "td": "colspan class",
}

// checkTable returns the caption of a table in HTML. It returns an error for anything except one table of
// text, such as scripts and links.
func checkTable(html string) (caption string, err error) {
	if strings.Contains(html, "<!") || strings.Contains(html, "<?") {
		// XML and HTML read these differently
		return "", errors.New("its HTML has a comment, declaration or instruction in it")
	}
	d := xml.NewDecoder(strings.NewReader(html))
	depth, tables, inCaption := 0, 0, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("its HTML: %w", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				tables++
			}
			if err := checkElement(x, depth == 0); err != nil {
				return "", err
			}
			depth++
			inCaption = x.Name.Local == "caption"
		case xml.EndElement:
			depth--
			inCaption = false
		case xml.CharData:
			if depth == 0 && strings.TrimSpace(string(x)) != "" {
				return "", fmt.Errorf("its HTML has %q outside the table", x)
			}
			if inCaption {
				caption += string(x)
			}
		}
	}
	if tables != 1 {
		return "", fmt.Errorf("its HTML has %d tables, want one", tables)
	}
	return caption, nil
}

func checkElement(e xml.StartElement, outermost bool) error {
	attributes, known := tableAttributes[e.Name.Local]
	if !known || e.Name.Space != "" || outermost != (e.Name.Local == "table") {
		return fmt.Errorf(
			"its HTML has <%s> in it, which torchpe/report/table does not write there",
			e.Name.Local)
	}
	for _, a := range e.Attr {
		if a.Name.Space != "" || !strings.Contains(" "+attributes+" ", " "+a.Name.Local+" ") {
			return fmt.Errorf(
				"its HTML has <%s %s> in it, which torchpe/report/table does not write",
				e.Name.Local, a.Name.Local)
		}
	}
	return nil
}
