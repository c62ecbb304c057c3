package train

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/text"
	"torchpe/data/masked"
	"torchpe/data/positions"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/models/pe"
	"torchpe/train/config"
)

// place returns the positions of a task's tokens, from the configuration's file or else usual, and
// notes about them.
func (c Config) place(tokens positions.Tokens, usual pe.Positions) (
	at pe.Positions, notes []string, err error,
) {
	if c.Positions == nil {
		return usual, nil, nil
	}
	sum, err := config.SumOf(c.Positions.File)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	if sum != c.Positions.SHA256 {
		return at, nil, fmt.Errorf("--positions: %s has changed: its SHA-256 is %.12s..., but that in the "+
			"configuration is %.12s...: restore the file, "+
			"or start a new run with --positions %s", c.Positions.File, sum, c.Positions.SHA256, c.Positions.File)
	}
	file, err := positions.Read(c.Positions.File, positions.Form(c.Positions.As), c.FirstLine(), tokens.Names...)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	e, err := c.encoding()
	if err != nil {
		return at, nil, err
	}
	if e.Needs <= pe.NeedsOrder && e.start.Kind == pe.MDSInit { // which uses more than the order
		e.Needs = pe.NeedsPoints
		if file.Form == positions.Graph || file.Form == positions.Edges {
			e.Needs = pe.NeedsGraph
		}
	}
	at, notes, err = Place(file, tokens, e.Scheme, e.options)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	if e.start.Kind == pe.MDSInit && isWeighted(at.Graph) {
		notes = append(notes, "positions: --pe-init mds counts the edges between tokens and ignores their weights")
	}
	return at, notes, nil
}

// onlyOrder describes, in a note, the positions that a scheme that needs an order uses; known has the exceptions.
const onlyOrder = "only the order of tokens"

// known says what schemes know of positions that need only an order, but know more if an option is among some.
var known = map[string]struct {
	what, option string
	more         []string
}{
	"abacus": {what: "only the places in the rows of a grid, or on a line"},
	"alibi":  {onlyOrder + " (distances with --alibi euclidean)", "alibi", []string{"euclidean"}},
	"cape":   {"only the places on a line (with --cape 2d on a grid)", "cape", []string{"2d"}},
	"learn-resampled": {onlyOrder + " (a grid with --resample-by bicubic or bilinear)", "resample-by",
		[]string{"bicubic", "bilinear"}},
}

// weightless says when schemes of graphs ignore the weights of edges.
var weightless = map[string]string{
	"graphormer": "uses the weights of edges only with --graphormer-edges",
	"rrwp":       "uses the weights of edges except with --rrwp-distance",
	"rwse":       "ignores the weights of edges",
}

// isWeighted reports whether an edge of a graph, which may be nil, has another weight than 1.
func isWeighted(g *pe.Graph) bool {
	for i := 0; g != nil && i < g.Nodes(); i++ {
		for j := range i {
			if w := g.Weight(i, j); w != 0 && w != 1 {
				return true
			}
		}
	}
	return false
}

// Place returns the positions of tokens from a file, and notes on how it was read and which parts
// of it a scheme with these options ignores. It returns an error if the scheme cannot use such positions, or
// would use ranks as places unasked.
func Place(file *positions.File, tokens positions.Tokens, scheme pe.Scheme, options pe.Options) (
	at pe.Positions, notes []string, err error,
) {
	placed, err := file.Place(tokens)
	if err != nil {
		return at, nil, err
	}
	at = pe.Positions{Index: placed.Index, Cells: placed.Cells, Points: placed.Points}
	if placed.Weights != nil {
		if at.Graph, err = pe.GraphOf(placed.Weights); err != nil {
			return at, nil, fmt.Errorf("%s: %w", file.Source, err)
		}
	}
	if err := scheme.Fits(at); err != nil {
		return at, nil, fmt.Errorf("%w (%s was read as %s)", err, file.Source, file.Form)
	}
	needsOrder := scheme.Needs == pe.NeedsSame || scheme.Needs == pe.NeedsOrder
	onLine := scheme.Needs == pe.NeedsGraph && at.Graph == nil && at.Cells == nil
	if placed.Ranked && (needsOrder || onLine) {
		return at, nil, fmt.Errorf("%s holds numbers that are not places 0 to %d or 1 to %d, but %s needs "+
			"an order: --positions-as order uses the ranks of the numbers, --positions-as coordinates "+
			"what %s uses of them",
			file.Source, len(at.Index)-1, len(at.Index), scheme.Name, scheme.Name)
	}
	notes = placed.How
	note := func(format string, args ...any) {
		notes = append(notes, "positions: "+fmt.Sprintf(format, args...))
	}
	for _, name := range scheme.PartNames() {
		switch {
		case needsOrder && file.Form != positions.Order:
			if of := known[name]; !slices.Contains(of.more, options[of.option]) {
				note("%s knows %s from %s", name, cmp.Or(of.what, onlyOrder), file.Source)
			}
		case weightless[name] != "" && isWeighted(at.Graph):
			note("%s %s", name, weightless[name])
		}
	}
	switch {
	case at.Graph != nil && scheme.Needs == pe.NeedsPoints:
		note("%s uses coordinates, but a graph has none: it knows %s", scheme.Name, onlyOrder)
	case onLine && at.Points != nil:
		note("%s connects neighbours on the line, regardless of the gaps between coordinates", scheme.Name)
	}
	return at, notes, nil
}

// Keys of the metadata of probes.
const (
	tokenNames = "token_names"
	tokenOrder = "token_order"
)

// aboutPositions adds to the metadata of the probes where a file places n tokens: token_order, the JSON [N] of their
// positions in the one-dimensional order, and token_points, the JSON [N][axes] of their rows and columns, or
// coordinates with the slowest axis first.
func aboutPositions(about map[string]string, at pe.Positions, n int) error {
	order, err := json.Marshal(at.Index[:n])
	about[tokenOrder] = string(order)
	if at.Points == nil && at.Cells == nil || err != nil {
		return err
	}
	points, _ := at.Coordinates(0)
	text, err := json.Marshal(points[:n])
	about["token_points"] = string(text)
	return err
}

// TokenPositions are coordinates of tokens that were computed from training samples.
type TokenPositions struct {
	Names       []string    // nil if the data has none
	Coordinates [][]float64 // [tokens][dims]
	Note        string      // how they were found
	About       []string    // notes on the data
}

// FindPositions computes the positions of tokens of masked prediction from training samples alone:
// the coordinates at which learned encodings start with c.PEInit, mds or gradients. Samples that
// training with c would hold out are not used.
func FindPositions(c Config) (p TokenPositions, err error) {
	if err := c.Resolve(); err != nil {
		return p, err
	}
	e, err := c.encoding()
	if err != nil {
		return p, err
	}
	if !c.Facts().HasSeries || e.start.Kind != pe.MDSInit && e.start.Kind != pe.GradientsInit {
		return p, fmt.Errorf("positions can be computed from data of masked prediction with mds or gradients, "+
			"not from task %s with %s", c.Task, e.start)
	}
	t, err := newMaskedTask(c)
	if err != nil {
		return p, &DataError{err}
	}
	p.Names, p.Coordinates = t.table.Names, make([][]float64, t.table.Tokens)
	for token, row := range t.positions.Index {
		p.Coordinates[token] = t.start[row]
	}
	p.About = dataNotes(t.data)
	_, p.Note, _ = strings.Cut(p.About[len(p.About)-1], ": ") // "start of learn: ..."
	p.About = p.About[:len(p.About)-1]
	return p, nil
}

// WriteCSV writes one row per token: its name, if it has one, and its coordinates. --positions
// reads such files.
func (p TokenPositions) WriteCSV(w io.Writer) error {
	var head []string
	if p.Names != nil {
		head = append(head, "name")
	}
	for axis := range p.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", axis+1))
	}
	rows := [][]string{head}
	for i, at := range p.Coordinates {
		var row []string
		if p.Names != nil {
			row = append(row, p.Names[i])
		}
		for _, v := range at {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		rows = append(rows, row)
	}
	return text.WriteWords(w, rows)
}

// TokenGraph joins tokens of masked prediction by the correlations of training samples.
type TokenGraph struct {
	Names []string // nil if the data has none
	Edges [][2]int // each once, from the lower token
	Note  string   // how they were found
	About []string // notes on the data
}

// FindGraph joins each token of masked prediction with those with which it correlates most over the
// training samples: the share 1 - c.PEInitSparsity of all tokens, by default a tenth. Samples that training
// with c would hold out are not used.
func FindGraph(c Config) (g TokenGraph, err error) {
	if err := c.Resolve(); err != nil {
		return g, err
	}
	if !c.Facts().HasSeries {
		return g, fmt.Errorf("a graph can be computed from data of masked prediction, not from task %s", c.Task)
	}
	t, baselines, err := fitMasked(c)
	if err != nil {
		return g, &DataError{err}
	}
	r, err := baselines.Correlation()
	if err != nil {
		return g, &DataError{err}
	}
	n := t.table.Tokens
	sparsity, why := c.sparsity(n)
	k := int(math.Round((1 - sparsity) * float64(n)))
	if k < 1 || k > n-1 {
		return g, fmt.Errorf("--pe-init-sparsity %g joins each of %d tokens with %d others: give a share that leaves "+
			"1 to %d", sparsity, n, k, n-1)
	}
	for i, row := range metrics.Strongest(r, n, k) {
		if !slices.Contains(row, true) {
			return g, &DataError{fmt.Errorf("token %d, from 0, correlates with no other by more than 0", i)}
		}
		for j, joined := range row {
			if joined && i < j {
				g.Edges = append(g.Edges, [2]int{i, j})
			}
		}
	}
	g.Names, g.About = t.table.Names, dataNotes(t.data)
	g.Note = fmt.Sprintf("each token's %d largest correlations over %s%s", k,
		wording.Count(baselines.Frames, "training frame"), why)
	return g, nil
}

// WriteCSV writes one row per edge: the names of its two tokens, or their numbers from 0. --positions reads such
// files.
func (g TokenGraph) WriteCSV(w io.Writer) error {
	rows := [][]string{{"from", "to"}}
	for _, edge := range g.Edges {
		row := []string{strconv.Itoa(edge[0]), strconv.Itoa(edge[1])}
		if g.Names != nil {
			row = []string{g.Names[edge[0]], g.Names[edge[1]]}
		}
		rows = append(rows, row)
	}
	return text.WriteWords(w, rows)
}

// startCoordinates returns the coordinates of tokens, by their Index, at which learned tables
// start, and a note on them; nil if they start otherwise. It computes them from the tokens'
// positions, or from the training frames in baselines, which is nil for a task without series.
func (c Config) startCoordinates(at pe.Positions, baselines *masked.Baselines) (
	coordinates [][]float64, note string, err error,
) {
	e, err := c.encoding()
	if err != nil {
		return nil, "", err
	}
	init := e.start
	var x []float64
	var k int
	switch init.Kind {
	case pe.MDSInit:
		x, k, note, err = c.scaled(init, at, baselines)
	case pe.GradientsInit:
		x, k, note, err = c.gradients(init, baselines)
	default:
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("--pe-init %s: %w", init, err)
	}
	coordinates = make([][]float64, at.Tokens())
	for token, row := range at.Index {
		coordinates[row] = x[token*k : (token+1)*k]
	}
	return coordinates, fmt.Sprintf("start of %s: %s", c.PE, note), nil
}

// dims returns the number of coordinates that init asks for, by default at most `most`.
func (c Config) dims(init pe.Init, tokens, most int) (int, error) {
	there := min(tokens-1, c.DModel)
	if init.Rank > there {
		return 0, fmt.Errorf("%d tokens in tables of %d columns have at most %s", tokens, c.DModel,
			wording.Count(there, "coordinate"))
	}
	return cmp.Or(init.Rank, min(there, most)), nil
}

// scaled returns coordinates [N,k] whose distances approximate those between the tokens: between
// their positions if a file or the task gives them, else 1 - r of their training frames. It starts
// from classical scaling and refines the result by descent on the stress.
func (c Config) scaled(init pe.Init, at pe.Positions, baselines *masked.Baselines) (
	x []float64, k int, note string, err error,
) {
	n := at.Tokens()
	d, from := []float64(nil), fmt.Sprintf("of tokens on %v", at)
	if baselines == nil || c.Positions != nil {
		d, err = at.Distances()
	} else {
		from = fmt.Sprintf("1 - r over %s", wording.Count(baselines.Frames, "training frame"))
		if d, err = baselines.Correlation(); err == nil {
			for i := range d {
				d[i] = 1 - d[i]
			}
		}
	}
	if err != nil {
		return nil, 0, "", err
	}
	most, err := c.dims(init, n, c.DModel)
	if err != nil {
		return nil, 0, "", err
	}
	all, err := metrics.ClassicalMDS(d, n, most)
	if err != nil {
		return nil, 0, "", err
	}
	if x, k = withoutZeros(all, n, most); k == 0 {
		return nil, 0, "", fmt.Errorf("the distances %s are all 0", from)
	}
	stress := func() float64 { // rounds sums that should be 0
		return math.Round(1e10*metrics.Stress(d, x, n, k)) / 1e10
	}
	classical := stress()
	x = metrics.RefineMDS(d, x, n, k)
	return x, k, fmt.Sprintf("%s of distances %s, stress %.3g (%.3g by classical scaling)",
		wording.Count(k, "coordinate"), from, stress(), classical), nil
}

// withoutZeros returns the columns of x [n,most] before the first column that is 0 up to rounding.
func withoutZeros(x []float64, n, most int) (kept []float64, k int) {
	lengths := make([]float64, most)
	for i, v := range x {
		lengths[i%most] = math.Hypot(lengths[i%most], v)
	}
	for k < most && lengths[k] > 1e-6*lengths[0] {
		k++
	}
	for i := range n {
		kept = append(kept, x[i*most:i*most+k]...)
	}
	return kept, k
}

// With fewer tokens than leastForSparsity the usual sparsity, 0.9, would keep at most two
// correlations of a token, one of which is with itself. Then only half of them are dropped.
const (
	leastForSparsity = 21
	sparsityOfFew    = 0.5
)

// sparsity returns the share of each token's correlations to be dropped, and a note if it is not the usual one.
func (c Config) sparsity(tokens int) (share float64, why string) {
	share = metrics.DefaultGradients().Sparsity
	if c.PEInitSparsity != nil {
		return *c.PEInitSparsity, ""
	}
	if tokens < leastForSparsity {
		return sparsityOfFew, fmt.Sprintf(" (%g leaves a token too few of %d correlations)", share, tokens)
	}
	return share, ""
}

// gradients returns the coordinates [N,k] of tokens along the gradients of the correlations of
// their training frames.
func (c Config) gradients(init pe.Init, baselines *masked.Baselines) (
	x []float64, k int, note string, err error,
) {
	r, err := baselines.Correlation()
	if err != nil {
		return nil, 0, "", err
	}
	n := int(math.Sqrt(float64(len(r))))
	o := metrics.DefaultGradients()
	var why string
	o.Sparsity, why = c.sparsity(n)
	if o.Dims, err = c.dims(init, n, o.Dims); err != nil {
		return nil, 0, "", err
	}
	x, strengths, err := metrics.Gradients(r, n, o)
	if err != nil {
		return nil, 0, "", fmt.Errorf("%w: give a lower --pe-init-sparsity", err)
	}
	return x, o.Dims, fmt.Sprintf("%s of correlations over %s, sparsity %g%s, eigenvalues %.3g to %.3g",
		wording.Count(o.Dims, "gradient"), wording.Count(baselines.Frames, "training frame"), o.Sparsity, why,
		strengths[0], strengths[o.Dims-1]), nil
}
