package page

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
)

// Explorer is an interactive page of what models learned of their tokens: a map of the positions in
// which a token can be chosen with mouse, finger or keyboard, its neighbours in that map's space, and
// the attention from and to it by block and head. The page is one file and asks for nothing from
// outside.
type Explorer struct {
	Title  string
	Back   string // file of the report beside it; empty for none
	Tokens []Token
	Groups []Group // modules; empty where none are known
	Models []Model
}

// Token is one token; Group is its place in Explorer.Groups, -1 for none.
type Token struct {
	Name  string `json:"name"`
	Group int    `json:"group"`
}

// Group is a module.
type Group struct {
	Name  string
	Color color.NRGBA
}

// Model holds what one model learned.
type Model struct {
	Label    string
	Map      [][2]float64 // a point for each token
	Frames   []Frame      // maps over training, may be empty
	Axes     [2]string    // labels of the map's axes
	Matrices []Matrix     // the first says which tokens are neighbours
}

// Frame is a map during training.
type Frame struct {
	Step int          `json:"step"`
	Map  [][2]float64 `json:"map"`
}

// Matrix has a value for each pair of tokens, by row.
type Matrix struct {
	Label  string // "attention, block 1, head 2"
	From   string // what a row says of its token: "attends to"
	To     string // what a column says: "is attended by"; empty for a symmetric matrix
	Values []float64
}

// largestExplorer bounds the size of the page in bytes.
const largestExplorer = 5 << 20

var (
	//go:embed explorer.html
	explorerSource string
	//go:embed explorer.css
	explorerStyle string
	//go:embed explorer.js
	explorerScript string

	explorerLayout = template.Must(template.New("explorer").Parse(explorerSource))
)

// modelJSON is a Model as the script reads it.
type modelJSON struct {
	Label    string       `json:"label"`
	Map      [][2]float64 `json:"map"`
	Axes     [2]string    `json:"axes"`
	Frames   []Frame      `json:"frames"`
	Matrices []matrixJSON `json:"matrices"`
}

// matrixJSON is a Matrix with values in 256 steps from Low to High, a byte each.
type matrixJSON struct {
	Label string  `json:"label"`
	From  string  `json:"from"`
	To    string  `json:"to,omitempty"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Bytes string  `json:"bytes"` // base64
}

// Save writes the page. Matrices that would make it larger than 5 MB are left out, the last ones
// first; left says so, or is empty.
func (p Explorer) Save(path string) (left string, err error) {
	n := len(p.Tokens)
	size := 1 << 16 // of everything else, about
	total, dropped := 0, 0
	var models []modelJSON
	for _, m := range p.Models {
		if err := m.check(n); err != nil {
			return "", fmt.Errorf("explorer: %s: %w", m.Label, err)
		}
		size += 64*n + 20*n*len(m.Frames)
		out := modelJSON{Label: m.Label, Axes: m.Axes, Map: rounded(m.Map), Frames: []Frame{}}
		last := m.Map
		for _, f := range slices.Backward(m.Frames) {
			last = aligned(f.Map, last)
			out.Frames = append(out.Frames, Frame{f.Step, rounded(last)})
		}
		slices.Reverse(out.Frames)
		for _, x := range m.Matrices {
			total++
			if size += base64.StdEncoding.EncodedLen(n*n) + 200; size > largestExplorer {
				dropped++
				continue
			}
			out.Matrices = append(out.Matrices, quantised(x))
		}
		models = append(models, out)
	}
	if dropped > 0 {
		left = fmt.Sprintf("%d of %d matrices: the page would be larger than %d MB", dropped, total,
			largestExplorer>>20)
	}
	type group struct {
		Name  string `json:"name"`
		Color string `json:"color"`
	}
	groups := []group{}
	for _, g := range p.Groups {
		groups = append(groups, group{g.Name, fmt.Sprintf("#%02x%02x%02x", g.Color.R, g.Color.G,
			g.Color.B)})
	}
	var b bytes.Buffer
	err = explorerLayout.Execute(&b, map[string]any{
		"Title": p.Title, "Back": p.Back, "CSS": template.CSS(explorerStyle),
		"JS": template.JS(explorerScript), "Left": left,
		"Data": map[string]any{"tokens": p.Tokens, "groups": groups, "models": models},
	})
	if err != nil {
		return "", fmt.Errorf("explorer: %w", err)
	}
	return left, atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// check returns an error where the parts of a model are not those of n tokens.
func (m Model) check(n int) error {
	if len(m.Map) != n {
		return fmt.Errorf("%d points for %s", len(m.Map), wording.Count(n, "token"))
	}
	for _, f := range m.Frames {
		if len(f.Map) != n {
			return fmt.Errorf("step %d: %d points for %s", f.Step, len(f.Map), wording.Count(n, "token"))
		}
	}
	for _, x := range m.Matrices {
		if len(x.Values) != n*n {
			return fmt.Errorf("%s: %d values for %s", x.Label, len(x.Values), wording.Count(n, "token"))
		}
	}
	return nil
}

// aligned returns a map turned, or mirrored and turned, about 0 so that its points are nearest to those
// of another: principal axes change places and signs from one record to the next.
func aligned(points, to [][2]float64) [][2]float64 {
	var dot, cross, mirroredDot, mirroredCross float64
	for i, a := range points {
		b := to[i]
		dot, cross = dot+a[0]*b[0]+a[1]*b[1], cross+a[0]*b[1]-a[1]*b[0]
		mirroredDot, mirroredCross = mirroredDot+a[0]*b[0]-a[1]*b[1],
			mirroredCross+a[0]*b[1]+a[1]*b[0]
	}
	sign := 1.0
	if math.Hypot(mirroredDot, mirroredCross) > math.Hypot(dot, cross) {
		sign, dot, cross = -1, mirroredDot, mirroredCross
	}
	sin, cos := math.Sincos(math.Atan2(cross, dot))
	out := make([][2]float64, len(points))
	for i, a := range points {
		x, y := a[0], sign*a[1]
		out[i] = [2]float64{cos*x - sin*y, sin*x + cos*y}
	}
	return out
}

// rounded keeps four digits of the map's extent.
func rounded(points [][2]float64) [][2]float64 {
	most := 0.0
	for _, at := range points {
		most = max(most, math.Abs(at[0]), math.Abs(at[1]))
	}
	if most == 0 {
		most = 1
	}
	out := make([][2]float64, len(points))
	for i, at := range points {
		for k, v := range at {
			out[i][k] = math.Round(v/most*1e4) / 1e4
		}
	}
	return out
}

// quantised returns a matrix in 256 steps; what is not finite is its lowest value.
func quantised(x Matrix) matrixJSON {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 0, 0
	}
	steps := make([]byte, len(x.Values))
	for i, v := range x.Values {
		if high > low && v > low {
			steps[i] = byte(math.Round(255 * min(1, (v-low)/(high-low))))
		}
	}
	return matrixJSON{Label: x.Label, From: x.From, To: x.To, Low: low, High: high,
		Bytes: base64.StdEncoding.EncodeToString(steps)}
}
