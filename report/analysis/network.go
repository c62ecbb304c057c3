package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/arrayfile"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/item"
)

// networkOptions selects how weights are computed, scored and tested.
type networkOptions struct {
	weights, modules, distance string
	permutations               int // 0 = no test
	null                       string
	seed                       uint64
	coordinates                string // of tokens, for a spatial null: a file or grid; empty = those of the run
	distances                  string // between tokens, instead of coordinates
}

func newNetwork() Measure {
	var o networkOptions
	return Measure{
		Use:   "network RUN... | --table FILE[:tensor] | --weights FILE[:tensor]",
		Short: "Modularity and clustering of a learned encoding, by the modules of its tokens",
		Long: `Distances between tokens are scaled to 0...1; the weights are w = 1 - distance, without
self-connections. With the modules of the tokens (paper A.3):

  Q = 1/l sum_ij [w_ij - k_i k_j / l] d(m_i, m_j), with l = sum_ij w_ij and k_i = sum_j w_ij
  C = mean over modules of (w_in - w_out) / w_in

With --permutations N, p is the share of N surrogates that reach Q, (1 + reached) / (1 + N):

  p          shuffles the labels of the tokens. If neighbouring tokens are alike and modules are
             compact, most encodings pass this test
  p, smooth  keeps the smoothness over the places of the tokens, known from --coordinates,
             --distances or the run. --null selects the surrogates:
    moran    tables as smooth as the measured one (Moran spectral randomisation: components
             along an eigenvector of 1/distance get a random sign; those along several
             eigenvectors of one eigenvalue, as on a grid, a random rotation or reflection; the
             same in all columns)
    spin     modules on a sphere that is rotated at random; each keeps its size. If the names of
             all tokens show the hemisphere, such as L_V1, each hemisphere has a sphere, and the
             two rotate as mirror images. It needs coordinates

Q of training samples is the modularity of the correlations between their tokens, with negative ones
as 0, as kept by the run: are the modules there without the model? Correlations are another kind of
weight than 1 - distance, so an encoding as modular as its data has a lower Q.

Runs of masked prediction keep their modules. Otherwise --modules gives them: a file (one label per
line, a name and a label per line, CAB-NP's LabelKey, or a vector of numbers in an array file), or
rows or columns of the grid on which --positions of the run place its tokens, else of the square grid
that they fill, such as the 4 x 4 of Latin-square puzzles.

JSON: {distance, permutations, permutation_seed, models: [{source, member, seed, pe, tokens,
modules, modules_from, null, places_from, connectivity_modularity, modularity, clustering, blocks:
[{block, modularity, chance_low, chance_high, clustering, p, p_smooth}]}], notes}; modularity and
clustering of a model are means over its blocks, chance_low to chance_high holds 95 % of the
surrogates of p, connectivity_modularity is Q of training samples. Notes say why a score has no
value, such as a row of zeros by cosine. Notes also explain unusual weights, such as negative ones.`,
		Example: `  torchpe analyze network runs/nmar_learn-0.1_code_seed1 --permutations 999
  torchpe analyze network runs/lst_learn-0.2_code_seed1 --modules rows
  torchpe analyze network runs/lst_learn-0.2_code_seed1 --modules rows --permutations 999 \
      --coordinates grid
  torchpe analyze network runs/rest --permutations 999 --coordinates sphere.csv --null spin
  torchpe analyze network --table table.npy --modules modules.csv --distance cosine
  torchpe analyze network --weights weights.csv --modules modules.csv --json`,
		Block: All,
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&o.weights, "weights", "", "score the weights [n,n] of FILE[:tensor] instead of "+
				"tables, as they are except for the diagonal")
			fl.StringVar(&o.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps)")
			fl.StringVar(&o.distance, "distance", "", distanceHelp+" (default: that of the runs, else euclidean)")
			fl.IntVar(&o.permutations, "permutations", 0, "surrogates for each p; 0 = no test")
			fl.StringVar(&o.null, "null", "", "smooth surrogates: "+strings.Join(nulls, " or ")+
				" (default: moran, with --weights spin)")
			fl.StringVar(&o.coordinates, "coordinates", "",
				"where tokens lie: FILE[:tensor] with one row per token, or grid (default: the run's coordinates)")
			fl.StringVar(&o.distances, "distances", "",
				"distances between tokens: FILE[:tensor], instead of --coordinates")
			fl.Uint64Var(&o.seed, "seed", 0, "seed of the surrogates")
		},
		run: o.run,
	}
}

// check returns an error for options that exclude each other.
func (o *networkOptions) check(in *Input) error {
	switch {
	case o.permutations < 0:
		return fmt.Errorf("--permutations %d: want 0 or more", o.permutations)
	case o.null != "" && !slices.Contains(nulls, o.null):
		return fmt.Errorf("--null %q is none of %s%s", o.null, strings.Join(nulls, ", "), wording.Hint(o.null, nulls))
	case o.coordinates != "" && o.distances != "":
		return fmt.Errorf("--coordinates and --distances both say where tokens lie: give one")
	case o.permutations == 0 && o.null != "":
		return fmt.Errorf("--null %s without --permutations: give the number of surrogates, such as 999", o.null)
	case o.permutations == 0 && in.given("seed"):
		return fmt.Errorf("--seed %d without --permutations: give the number of surrogates, such as 999", o.seed)
	case o.permutations == 0 && o.coordinates+o.distances != "":
		return fmt.Errorf("--coordinates and --distances are for a test: give the number of surrogates with " +
			"--permutations, such as 999")
	case o.null == moran && o.weights != "":
		return fmt.Errorf("--null moran draws tables, and --weights has none: give --table, or --null spin")
	case o.weights != "" && (len(in.Args) > 0 || slices.ContainsFunc(
		[]string{"table", "block", "positions", "distance"}, in.given)):
		return fmt.Errorf("--weights is scored as it is: give it without runs, --table, --block, --positions and " +
			"--distance")
	}
	return nil
}

// run scores tables, or given weights, by the modules of their tokens.
func (o *networkOptions) run(in *Input) (*Report, error) {
	kind, err := parseDistance(cmp.Or(o.distance, metrics.Euclidean.String()))
	if err == nil {
		err = o.check(in)
	}
	if err != nil {
		return nil, err
	}
	var notes []string
	var models []*Model
	if o.weights == "" {
		models, err = in.models()
	} else {
		models, notes, err = o.readWeights(in)
	}
	if err != nil {
		return nil, err
	}
	if o.weights == "" && !in.given("distance") {
		kind = in.ownDistance(models)
	}
	known := make([]network, len(models))
	for i, m := range models {
		if i > 0 && m.Source == models[i-1].Source { // another member
			known[i] = known[i-1]
		} else if known[i], err = o.networkOf(m, in); err != nil {
			return nil, err
		}
	}
	numbers := o.columns(known)
	found := make([]scores, len(models))
	for i, m := range models {
		found[i] = numbers.measure(m, func(_ int, t Table) ([]any, string) { return o.score(t, kind, known[i]) })
		found[i].about = Object{{"tokens", m.Tables[0].Tokens}, {"modules", known[i].modules.count()},
			{"modules_from", known[i].modules.From}}
		if by := known[i].smooth; by.from != "" {
			found[i].about = append(found[i].about, Field{"null", by.name()}, Field{"places_from", by.from})
		}
		if known[i].ofData.known() {
			found[i].about = append(found[i].about, Field{"connectivity_modularity", known[i].ofData})
		}
		found[i].extra = []string{known[i].ofData.String()}
		if m.isRun() {
			if poor := item.PoorNote(*m.member); poor != "" {
				notes = append(notes, m.Source+": "+poor)
			}
		}
	}
	head := Object{{"permutations", o.permutations}, {"permutation_seed", o.seed}}
	if o.weights == "" {
		head = append(Object{{"distance", kind.String()}}, head...)
	}
	r := numbers.report(head, found)
	r.notes = append(notes, r.notes...)
	r.Tables[0].Foot = o.foot(kind, known, models[0].Tables[0].Tokens, found)
	return r, nil
}

// ownDistance returns the distance by which runs measured their networks (--pe-distance), or Euclidean, with a note,
// if they used several.
func (in *Input) ownDistance(models []*Model) metrics.Distance {
	var used []metrics.Distance
	for _, m := range models {
		kind := metrics.Euclidean
		if m.isRun() {
			if of, err := m.member.Run.Distance(); err == nil {
				kind = of
			}
		}
		if !slices.Contains(used, kind) {
			used = append(used, kind)
		}
	}
	if len(used) == 1 {
		return used[0]
	}
	in.note("the runs measured their networks by several distances (--pe-distance), here all by Euclidean ones: " +
		"--distance chooses another")
	return metrics.Euclidean
}

// network holds what is known about a model's tokens.
type network struct {
	modules moduleSet
	smooth  smoothNull
	ofData  Number // modularity of the connectivity in the training samples
}

// networkOf returns what is known about a model's tokens.
func (o *networkOptions) networkOf(m *Model, in *Input) (n network, err error) {
	if n.modules, err = m.modules(o.modules, in.Header); err != nil {
		return n, err
	}
	n.smooth, err = o.nullOf(m, in.Header)
	if err != nil && o.null+o.coordinates+o.distances == "" { // no option asks for the test
		in.note("%v: no test against smooth surrogates", err)
		n.smooth, err = smoothNull{}, nil
	}
	n.ofData = None
	if m.isRun() && o.modules == "" && m.Tables[0].Tokens == m.tokens { // of its modules and all tokens
		if q := m.member.Run.ConnectivityModularity(); q != nil {
			n.ofData = Number(*q)
		}
	}
	return n, err
}

// columns returns the columns of the numbers that score returns.
func (o *networkOptions) columns(known []network) layout {
	isSmooth := func(n network) bool { return n.smooth.from != "" }
	l := blocks(column{key: "modularity", heading: "modularity Q"},
		column{key: "chance_low", heading: "chance: 2.5 %", partsOnly: true, hidden: o.permutations == 0},
		column{key: "chance_high", heading: "97.5 %", partsOnly: true, hidden: o.permutations == 0},
		column{key: "clustering", heading: "clustering C"},
		column{key: "p", heading: "p", partsOnly: true, hidden: o.permutations == 0},
		column{key: "p_smooth", heading: "p, smooth", partsOnly: true,
			hidden: !slices.ContainsFunc(known, isSmooth)})
	l.extra = []string{"Q of training samples"}
	if o.weights != "" {
		l.noun = "matrix"
	}
	return l
}

// foot returns the text below the table: the number of modules of the first network, the number of tables
// with p below .05, and what a low p means.
func (o *networkOptions) foot(kind metrics.Distance, known []network, tokens int, found []scores) string {
	modules := known[0].modules
	text := fmt.Sprintf("%s of %s, %s", wording.Count(modules.count(), "module"), wording.Count(tokens, "token"),
		map[bool]string{true: "kept by the run", false: modules.From}[modules.From == ofRun])
	if o.weights == "" && kind != metrics.Euclidean {
		text += fmt.Sprintf("; %s distances", kind)
	}
	if o.permutations == 0 {
		return text
	}
	text += fmt.Sprintf("\np and chance: labels of modules shuffled %s; %s.\n"+
		"Where neighbours are alike, compact modules pass this test.", wording.Count(o.permutations, "time"),
		verdict(found, 5))
	i := slices.IndexFunc(known, func(n network) bool { return n.smooth.from != "" })
	if i < 0 {
		return text + "\n--coordinates FILE, with the places of tokens, adds a test that keeps smoothness."
	}
	by := known[i].smooth
	return text + fmt.Sprintf("\np, smooth: %s that are equally smooth (%s, %s); %s.",
		wording.Count(o.permutations, "surrogate"), by.name(), by.from, verdict(found, 6))
}

// verdict returns the number of tables whose p, at index at of their parts, is below .05.
func verdict(found []scores, at int) string {
	below, all := 0, 0
	for _, s := range found {
		for _, part := range s.parts {
			if p, ok := part[at].(Number); ok && p.known() {
				if all++; p < 0.05 {
					below++
				}
			}
		}
	}
	return fmt.Sprintf("p < .05 in %d of %s", below, wording.Count(all, "table"))
}

// readWeights returns a model whose tables are weights [n,n], with notes on them.
func (o *networkOptions) readWeights(in *Input) ([]*Model, []string, error) {
	a, err := arrayfile.Read(o.weights, in.Header, func(shape []int) error {
		if k := len(shape); k < 2 || shape[k-1] != shape[k-2] || shape[k-1] < 2 {
			return fmt.Errorf("shape %v: want square weights [n,n], or a stack of them", shape)
		}
		if n := shape[len(shape)-1]; n > maxTokens {
			return fmt.Errorf("shape %v: want at most %d nodes", shape, maxTokens)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	n := a.Shape[len(a.Shape)-1]
	m := &Model{Subject: Subject{Source: a.Source}, Names: a.Rows, tokens: n}
	if a.Rows == nil {
		m.Names = a.Columns
	}
	m.all = m.Names
	notes := []string{numberedNames(a), negativeWeightsNote(a.Source, a.Data, n), diagonalNote(a.Source, a.Data, n)}
	for w := range slices.Chunk(a.Data, n*n) {
		for i, v := range w {
			if v-v != 0 {
				return nil, nil, fmt.Errorf("%s: the weight of %d and %d is %v: want finite numbers",
					a.Source, i/n, i%n, v)
			}
			// np.corrcoef is symmetric up to rounding.
			if back := w[i%n*n+i/n]; math.Abs(v-back) > 1e-6*max(math.Abs(v), math.Abs(back)) {
				notes = append(notes, a.Source+": the weights are not symmetric; degrees are the sums of rows")
			}
		}
		m.Tables = append(m.Tables, Table{len(m.Tables), metrics.Table{Tokens: n, Dim: n, Values: w}})
	}
	if m.Tables == nil {
		return nil, nil, fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	return []*Model{m}, notes, nil
}

// score returns the numbers of a table, or of given weights, and the reason why one of them has no value.
func (o *networkOptions) score(t Table, kind metrics.Distance, n network) ([]any, string) {
	none := []any{None, None, None, None, None, None}
	w := t.Values
	if o.weights == "" {
		d := t.Distances(kind)
		if why := noDistances(t, d, kind); why != "" {
			return none, "no scores: " + why
		}
		w = metrics.Proximity(d)
	}
	s, err := metrics.ScoreNetwork(w, n.modules.Labels)
	if err != nil {
		return none, "no scores: " + reason(err)
	}
	q := Number(s.Modularity)
	test := func(draw metrics.Surrogate) (low, high, p Number) {
		if o.permutations == 0 || draw == nil || !q.known() {
			return None, None, None
		}
		null := draw.Test(s.Modularity, o.permutations, o.seed)
		return Number(null.Low), Number(null.High), Number(null.P)
	}
	low, high, p := test(metrics.Permuted(w, n.modules.Labels))
	_, _, smooth := test(n.smooth.surrogate(t, w, kind, n.modules))
	return []any{q, low, high, Number(s.Clustering), p, smooth}, noScore(w, n.modules, s)
}
