package analysis

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/figure"
	"torchpe/report/item"
)

// The methods of a map.
const (
	pca = "pca"
	mds = "mds"
)

// MapMethods lists the values of --method.
var MapMethods = []string{pca, mds}

// mapOptions selects how coordinates are computed.
type mapOptions struct {
	method, distance, modules, template string
	dims                                int
}

func newMap() Measure {
	var o mapOptions
	return Measure{
		Use:   "map RUN | --table FILE[:tensor]",
		Short: "Coordinates of the tokens: principal components or multidimensional scaling",
		Long: `A map of the tokens in few dimensions, for a scatter plot:

  pca  principal components of the table, with the share of variance explained by each
  mds  classical multidimensional scaling of the distances (Torgerson 1952), with their
       stress, sqrt(sum (d - d')^2 / sum d^2): 0 if the map has exactly these distances

The sign of each axis makes its largest coordinate positive. Tokens have the modules kept by the run,
or those of --modules.

All members of a run are mapped separately; --member chooses one.

JSON: {models: [{source, member, seed, pe, block, method, distance (mds), explained (pca),
stress (mds), tokens, modules, coordinates: [[x1, x2...] of each token]}]}. --out map.csv writes
(member,) token, (module,) x1, x2...; --out map.pdf, .svg or .png draws the first two axes, one panel
per member. "torchpe analyze procrustes" reads a map.csv of one member without modules.

--out map.pscalar.nii writes a CIFTI file of scalars, one map per axis, which wb_view and nilearn
open. --template is a ptseries, pscalar or pconn file with the parcels of the data. They are
matched by name if tokens have names, else by order.`,
		Example: `  torchpe analyze map runs/lst_learn-0.2_code_seed1 --modules rows
  torchpe analyze map runs/nmar --method mds --distance sign-aligned --out map.csv
  torchpe analyze map runs/nmar --out map.pdf
  torchpe analyze map runs/rest --dims 3 --out map.pscalar.nii --template 100206.ptseries.nii
  torchpe analyze map --table table.csv --dims 3 --json`,
		Out:        "write the coordinates to this .csv or .pscalar.nii file, or draw them as .pdf, .svg or .png",
		Extensions: []string{".csv", scalarsEnding, ".pdf", ".svg", ".png"},
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&o.method, "method", pca, "pca or mds")
			fl.StringVar(&o.distance, "distance", "euclidean", "with mds, "+distanceHelp)
			fl.IntVar(&o.dims, "dims", 2, "dimensions")
			fl.StringVar(&o.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps, if any)")
			fl.StringVar(&o.template, "template", "",
				"for --out X"+scalarsEnding+": a ptseries, pscalar or pconn file with the parcels of the data")
		},
		run: o.run,
	}
}

// tokenMap holds the coordinates of a table's tokens.
type tokenMap struct {
	Subject
	tokens  []string
	modules []string   // of each token; nil if unknown
	at      [][]Number // [tokens][dims]
	axes    []string   // names of the axes, for drawings
	about   Object     // how the map was computed, for JSON
	how     string     // the same as a sentence
}

// run maps the tokens of each model's table.
func (o *mapOptions) run(in *Input) (*Report, error) {
	distance, err := parseDistance(o.distance)
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(MapMethods, o.method):
		return nil, fmt.Errorf("--method %q is unknown: want %s%s", o.method, strings.Join(MapMethods, " and "),
			wording.Hint(o.method, MapMethods))
	case o.method == pca && in.given("distance"):
		return nil, fmt.Errorf("--distance %s without --method mds: principal components use the table, not "+
			"distances", o.distance)
	}
	template, err := o.readTemplate(in)
	if err != nil {
		return nil, err
	}
	models, err := in.oneTable()
	if err != nil {
		return nil, err
	}
	var maps []tokenMap
	var found []Object
	r := &Report{}
	for _, m := range models {
		one, err := o.coordinates(m, in, distance)
		if err != nil {
			return nil, err
		}
		object := append(m.object(), append(one.about, Field{"tokens", one.tokens})...)
		if one.modules != nil {
			object = append(object, Field{"modules", one.modules})
		}
		maps, found = append(maps, one), append(found, append(object, Field{"coordinates", one.at}))
		lead, rows := one.named()
		r.Tables = append(r.Tables, numberTable(lead, rows, one.at, one.how))
	}
	r.JSON = Object{{"models", found}}
	switch in.extension() {
	case "":
	case ".csv":
		r.File, err = mapsCSV(maps)
	case scalarsEnding:
		var parcels []int
		var how string
		if parcels, how, err = parcelsOf(models[0], template); err == nil {
			in.note("parcels matched %s", how)
			r.File, err = mapScalars(maps, parcels, template)
		}
	default:
		r.File, err = drawMaps(maps, in.extension())
	}
	return r, err
}

// coordinates maps the tokens of a model's first table.
func (o *mapOptions) coordinates(m *Model, in *Input, distance metrics.Distance) (tokenMap, error) {
	t := m.Tables[0]
	out := tokenMap{Subject: m.Subject, tokens: m.tokenNames(), about: Object{{"block", t.Block}, {"method", o.method}}}
	most := t.Tokens - 1
	if o.method == pca {
		most = min(most, t.Dim)
	}
	if o.dims < 1 || o.dims > most {
		return out, fmt.Errorf("%s: %s of a map of a table [%d,%d]: want 1 to %d", m.Source,
			wording.Count(o.dims, "dimension"), t.Tokens, t.Dim, most)
	}
	found, err := m.modules(o.modules, in.Header)
	switch {
	case err == nil:
		for _, l := range found.Labels {
			out.modules = append(out.modules, found.Names[l])
		}
	case o.modules != "":
		return out, err
	}
	if o.method == pca {
		err = out.components(t, o.dims)
	} else {
		err = out.scale(t, o.dims, distance)
	}
	if err != nil {
		return out, fmt.Errorf("%s: no map: %s", m.Source, reason(err))
	}
	return out, nil
}

// components sets coordinates along the principal axes of a table, and the variance they explain.
func (m *tokenMap) components(t Table, dims int) error {
	at, explained, err := t.PCA(dims)
	if err != nil {
		return err
	}
	m.at = numbers(at.Values, dims)
	m.about = append(m.about, Field{"explained", numbers(explained, dims)[0]})
	var shares []string
	for axis, share := range explained {
		shares = append(shares, fmt.Sprintf("PC %d %.1f %%", axis+1, 100*share))
		m.axes = append(m.axes, item.Axis("PC", axis, share))
	}
	m.how = fmt.Sprintf("pca of %s, block %d; variance explained: %s", m.label(), t.Block,
		strings.Join(shares, ", "))
	return nil
}

// scale sets coordinates by classical multidimensional scaling, and their stress.
func (m *tokenMap) scale(t Table, dims int, distance metrics.Distance) error {
	d := t.Distances(distance)
	if why := noDistances(t, d, distance); why != "" {
		return errors.New(why)
	}
	for i, v := range d { // rounding: 1 - cosine of parallel rows
		if v < 0 && v > -1e-12 {
			d[i] = 0
		}
	}
	at, err := metrics.ClassicalMDS(d, t.Tokens, dims)
	if err != nil {
		return err
	}
	stress := Number(metrics.Stress(d, at, t.Tokens, dims))
	m.at = numbers(at, dims)
	m.about = append(m.about, Field{"distance", distance.String()}, Field{"stress", stress})
	m.how = fmt.Sprintf("mds of %s, block %d, %s distances; stress %s", m.label(), t.Block, distance, stress)
	for axis := range dims {
		m.axes = append(m.axes, fmt.Sprintf("MDS %d", axis+1))
	}
	return nil
}

// named returns a map's headings and the cells that start its rows: the token, and its module if
// modules are known.
func (m tokenMap) named() (head []string, rows [][]string) {
	head = []string{mapToken}
	if m.modules != nil {
		head = append(head, mapModule)
	}
	for i := range m.at[0] {
		head = append(head, mapAxis(i))
	}
	for i, token := range m.tokens {
		row := []string{token}
		if m.modules != nil {
			row = append(row, m.modules[i])
		}
		rows = append(rows, row)
	}
	return head, rows
}

// title names a map by its encoding and seed, or by its file.
func (m tokenMap) title() string {
	if m.member == nil {
		return filepath.Base(m.Source)
	}
	return fmt.Sprintf("%s, seed %d", m.member.Label(), m.seed())
}

// mostNamed limits the tokens that a drawing names.
const mostNamed = 64

// drawMaps draws the first two axes of each map, with up to three maps in a row.
func drawMaps(maps []tokenMap, extension string) ([]byte, error) {
	const inRow = 3
	page := figure.Page{Width: figure.PageWidth}
	for i, m := range maps {
		if len(m.axes) < 2 {
			return nil, errors.New("--dims 1: a drawing has two axes: choose 2, or write .csv")
		}
		panel := figure.Map{Title: m.title(), XLabel: m.axes[0], YLabel: m.axes[1]}
		for _, at := range m.at {
			panel.XY = append(panel.XY, [2]float64{float64(at[0]), float64(at[1])})
		}
		if len(m.tokens) <= mostNamed {
			panel.Labels = m.tokens
		}
		for _, module := range m.modules {
			group := slices.Index(panel.GroupNames, module)
			if group < 0 {
				group = len(panel.GroupNames)
				panel.GroupNames = append(panel.GroupNames, module)
			}
			panel.Groups = append(panel.Groups, group)
		}
		if i%inRow == 0 {
			page.Rows = append(page.Rows, figure.Row{Height: 2.6})
		}
		r := &page.Rows[len(page.Rows)-1]
		r.Cells = append(r.Cells, figure.Cell{Panel: panel})
	}
	drawn, err := figure.Compose(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = drawn.Encode(&b, strings.TrimPrefix(extension, "."))
	return b.Bytes(), err
}

// Names of the columns before the coordinates in a map's file.
const (
	mapMember = "member"
	mapToken  = "token"
	mapModule = "module"
)

// mapAxis names the column of an axis, counted from 0.
func mapAxis(axis int) string { return fmt.Sprintf("x%d", axis+1) }

// mapsCSV returns one row per token: its name, its module if known, and its coordinates x1, x2... If
// there are several maps, the first column is the member.
func mapsCSV(maps []tokenMap) ([]byte, error) {
	var lines [][]string
	several := len(maps) > 1
	for k, m := range maps {
		head, rows := m.named()
		if k == 0 {
			if several {
				head = append([]string{mapMember}, head...)
			}
			lines = append(lines, head)
		}
		for i, row := range rows {
			if several {
				row = append([]string{strconv.Itoa(m.member.Index)}, row...)
			}
			for _, v := range m.at[i] {
				row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 64))
			}
			lines = append(lines, row)
		}
	}
	var b bytes.Buffer
	err := text.WriteWords(&b, lines)
	return b.Bytes(), err
}
