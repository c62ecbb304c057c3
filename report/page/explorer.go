package page

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"

	"torchpe/internal/atomicfile"
)

// Explorer is an interactive page about the tokens of trained models. It shows a map of the learned
// positions in which the reader selects a token with mouse, finger or keyboard, the token's nearest
// neighbours, and the attention from and to it by block and head. The page is one file and loads
// nothing else.
type Explorer struct {
	Title  string
	Back   string // file of the report to link to, beside the page; may be empty
	Tokens []Token
	Groups []Group // modules; may be empty
	Models []Model
}

// Token is one token. Group is an index into Explorer.Groups, or -1 for none.
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
	Label    string       `json:"label"`
	Map      [][2]float64 `json:"map"`      // a point for each token
	Axes     [2]string    `json:"axes"`     // labels of the map's axes
	Frames   []Frame      `json:"frames"`   // maps during training; may be empty
	Matrices []Matrix     `json:"matrices"` // the first one determines the neighbours of a token
}

// Frame is a map during training.
type Frame struct {
	Step int          `json:"step"`
	Map  [][2]float64 `json:"map"`
}

// Matrix holds a value for each pair of tokens, row by row.
type Matrix struct {
	Label  string // "attention, block 0, head 1"
	From   string // relation of a row's token to the columns' tokens: "attends to"
	To     string // relation of a column's token: "is attended by"; empty for a symmetric matrix
	Values []float64
}

// maxExplorerSize bounds the size of the page in bytes.
const maxExplorerSize = 10 << 20

var (
	//go:embed explorer.html
	explorerSource string
	//go:embed explorer.css
	explorerStyle string
	//go:embed explorer.js
	explorerScript string

	explorerLayout = template.Must(template.New("explorer").Parse(explorerSource))
)

// MarshalJSON writes the values quantised to 65,536 levels from low to high, as base64 of two bytes a value. The
// diagonal, which the page does not show, may lie beyond low and high. NaN and -Inf become the lowest level.
func (x Matrix) MarshalJSON() ([]byte, error) {
	low, high := math.Inf(1), math.Inf(-1)
	n := int(math.Sqrt(float64(len(x.Values))))
	for i, v := range x.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) && i%(n+1) > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		low, high = 0, 0
	}
	steps := make([]byte, 2*len(x.Values))
	for i, v := range x.Values {
		if high > low && v > low {
			level := math.Round(math.MaxUint16 * min(1, (v-low)/(high-low)))
			binary.LittleEndian.PutUint16(steps[2*i:], uint16(level))
		}
	}
	return json.Marshal(struct {
		Label string  `json:"label"`
		From  string  `json:"from"`
		To    string  `json:"to,omitempty"`
		Low   float64 `json:"low"`
		High  float64 `json:"high"`
		Bytes []byte  `json:"bytes"`
	}{x.Label, x.From, x.To, low, high, steps})
}

// Save writes the page. It leaves out the last matrices if the page would exceed 10 MB, and returns a
// note on them in left.
func (p Explorer) Save(path string) (left string, err error) {
	n := len(p.Tokens)
	size := 1 << 16 // estimate for everything except models
	total, dropped := 0, 0
	var models []Model
	for _, m := range p.Models {
		size += 64*n + 20*n*len(m.Frames)
		out := Model{Label: m.Label, Axes: m.Axes, Map: rounded(m.Map), Frames: []Frame{}}
		last := m.Map
		for _, f := range slices.Backward(m.Frames) {
			last = aligned(f.Map, last)
			out.Frames = append(out.Frames, Frame{f.Step, rounded(last)})
		}
		slices.Reverse(out.Frames)
		for _, x := range m.Matrices {
			total++
			if size += base64.StdEncoding.EncodedLen(2*n*n) + 200; size > maxExplorerSize {
				dropped++
				continue
			}
			out.Matrices = append(out.Matrices, x)
		}
		models = append(models, out)
	}
	if dropped > 0 {
		left = fmt.Sprintf("%d of %d matrices: the page would be larger than %d MB", dropped, total,
			maxExplorerSize>>20)
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
	page := map[string]any{
		"Title": p.Title, "Back": p.Back, "CSS": template.CSS(explorerStyle),
		"JS": template.JS(explorerScript), "Left": left,
		"Data": map[string]any{"tokens": p.Tokens, "groups": groups, "models": models},
	}
	return left, atomicfile.Write(path, func(w io.Writer) error { return render(w, explorerLayout, page) })
}

// aligned rotates a map around 0, and reflects it if needed, so that its points are closest to those of
// another. It removes the swaps and sign changes of principal axes between successive maps.
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

// rounded scales a map to the range -1 to 1 and rounds it to four decimals.
func rounded(points [][2]float64) [][2]float64 {
	scale := 0.0
	for _, at := range points {
		scale = max(scale, math.Abs(at[0]), math.Abs(at[1]))
	}
	if scale == 0 {
		scale = 1
	}
	out := make([][2]float64, len(points))
	for i, at := range points {
		for k, v := range at {
			out[i][k] = math.Round(v/scale*1e4) / 1e4
		}
	}
	return out
}
