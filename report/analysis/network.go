package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array/arrayfile"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

// networkOptions say how weights are made, scored and tested.
type networkOptions struct {
	weights, modules, distance string
	permutations               int // 0 = no test
	null                       string
	seed                       uint64
	coordinates                string // of tokens, for a spatial null: a file, or grid; empty = those that a run keeps
	distances                  string // between tokens, in the place of coordinates
}

func newNetwork() Measure {
	var o networkOptions
	return Measure{
		Use:   "network RUN... | --table FILE[:tensor] | --weights FILE[:tensor]",
		Short: "Modularity and clustering of a learned encoding, by the modules of its tokens",
		Long: `Distances between tokens are scaled to 0...1 and taken from 1, which gives weights w
without self-connections. Against the modules of the tokens (paper A.3):

  Q = 1/l sum_ij [w_ij - k_i k_j / l] d(m_i, m_j), with l = sum_ij w_ij and k_i = sum_j w_ij
  C = mean over modules of (w_in - w_out) / w_in

p is the share of N surrogates that reach Q, (1 + reached) / (1 + N). --null says which:

  permute  deal the labels to the tokens at random. Where neighbouring tokens are alike and
           modules are compact, most encodings "have" modules by this test
  moran    tables as smooth over where the tokens lie as the measured one (Moran spectral
           randomisation, one sign an eigenvector of 1/distance for all columns)
  spin     modules on a sphere that is turned at random; each keeps its size. Where the names of
           all tokens tell a hemisphere, such as L_V1, each has a sphere of its own, and they turn
           as mirror images

moran and spin need --coordinates of the tokens; moran takes --distances as well.

Runs of masked prediction keep their modules; --modules gives them otherwise: a file (a label
a line, a name and a label a line, CAB-NP's LabelKey, a vector of numbers in an array file), or
rows or columns of the square grid that the tokens fill, such as the 4 x 4 of Latin-square puzzles.

JSON: {distance, permutations, null, permutation_seed, models: [{source, member, seed, pe, tokens,
modules, modules_from, places_from, modularity, clustering, blocks: [{block, modularity,
clustering, p}]}], notes}; modularity and clustering of a model are means over its blocks. Notes say why a score has
no value, such as a row of zeros by cosine, and what to know of weights, such as negative ones.`,
		Example: `  torchpe analyze network runs/nmar_learn-0.1_code_seed1 --permutations 999
  torchpe analyze network runs/lst_learn-0.2_code_seed1 --modules rows
  torchpe analyze network runs/lst_learn-0.2_code_seed1 --modules rows --permutations 999 \
      --null moran --coordinates grid
  torchpe analyze network --table table.npy --modules modules.csv --distance cosine
  torchpe analyze network --weights weights.csv --modules modules.csv --json`,
		Block: All,
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&o.weights, "weights", "", "score the weights [n,n] of FILE[:tensor] as they are but for the "+
				"diagonal, instead of tables")
			fl.StringVar(&o.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps)")
			fl.StringVar(&o.distance, "distance", "euclidean", distanceHelp)
			fl.IntVar(&o.permutations, "permutations", 0, "surrogates for p; 0 = no test")
			fl.StringVar(&o.null, "null", permute, "surrogates: "+strings.Join(nulls, ", "))
			fl.StringVar(&o.coordinates, "coordinates", "",
				"where tokens lie: FILE[:tensor] with a row a token, or grid (default: where the run keeps it)")
			fl.StringVar(&o.distances, "distances", "",
				"distances between tokens: FILE[:tensor], in place of --coordinates")
			fl.Uint64Var(&o.seed, "seed", 0, "seed of the surrogates")
		},
		run: o.run,
	}
}

// check says which options cannot go together.
func (o *networkOptions) check(in *Input) error {
	switch {
	case o.permutations < 0:
		return fmt.Errorf("--permutations %d: want 0 or more", o.permutations)
	case !slices.Contains(nulls, o.null):
		return fmt.Errorf("--null %q is none of %s%s", o.null, strings.Join(nulls, ", "), wording.Hint(o.null, nulls))
	case o.coordinates != "" && o.distances != "":
		return fmt.Errorf("--coordinates and --distances both say where tokens lie: give one")
	case o.null == permute && o.coordinates+o.distances != "":
		return fmt.Errorf("--null permute does not ask where tokens lie: with --coordinates or --distances " +
			"give --null moran or spin")
	case o.null != permute && o.permutations == 0:
		return fmt.Errorf("--null %s without --permutations: say how many surrogates, such as 999", o.null)
	case o.null == moran && o.weights != "":
		return fmt.Errorf("--null moran draws tables, and --weights has none: give --table, or --null spin")
	case o.weights != "" && (len(in.Args)+len(in.Files) > 0 || in.Positions != ""):
		return fmt.Errorf("--weights is scored as it is: give it without runs, --table and --positions")
	}
	return nil
}

// run scores the tables of models, or weights as they are, by the modules of their tokens.
func (o *networkOptions) run(in *Input) (*Report, error) {
	kind, err := parseDistance(o.distance)
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
	all, by := make([]moduleSet, len(models)), make([]nullModel, len(models))
	for i, m := range models {
		if all[i], err = m.modules(o.modules, in.Header); err != nil {
			return nil, err
		}
		if i > 0 && m.Source == models[i-1].Source { // another member
			by[i] = by[i-1]
		} else if by[i], err = o.nullOf(m, in.Header); err != nil {
			return nil, err
		}
	}
	numbers := blocks(column{key: "modularity", heading: "modularity Q"},
		column{key: "clustering", heading: "clustering C"},
		column{key: "p", heading: "p", partsOnly: true, hidden: o.permutations == 0})
	found := make([]scores, len(models))
	for i, m := range models {
		if found[i], err = numbers.measure(m, func(_ int, t Table) ([]any, error) {
			values, why, err := o.score(t, kind, all[i], by[i])
			if why != "" {
				notes = append(notes, fmt.Sprintf("%s: %s %d: %s", m.Source, o.what(), t.Block, why))
			}
			return values, err
		}); err != nil {
			return nil, err
		}
		found[i].about = Object{{"tokens", m.Tables[0].Tokens}, {"modules", all[i].count()},
			{"modules_from", all[i].From}}
		if by[i].from != "" {
			found[i].about = append(found[i].about, Field{"places_from", by[i].from})
		}
	}
	head := Object{{"permutations", o.permutations}, {"null", o.null}, {"permutation_seed", o.seed}}
	if o.weights == "" {
		head = append(Object{{"distance", o.distance}}, head...)
	}
	r := numbers.report(head, found)
	r.notes = notes
	r.Tables[0].Foot = fmt.Sprintf("%s of %s, %s", wording.Count(all[0].count(), "module"),
		wording.Count(models[0].Tables[0].Tokens, "token"), all[0].From)
	if by[0].from != "" {
		r.Tables[0].Foot += fmt.Sprintf("; p by %s surrogates, %s", o.null, by[0].from)
	}
	return r, nil
}

// what names what is scored.
func (o *networkOptions) what() string {
	if o.weights != "" {
		return "matrix"
	}
	return "table"
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
	notes := []string{numberedNames(a), negativeWeightsNote(a.Source, a.Data, n), diagonalNote(a.Source, a.Data, n)}
	for w := range slices.Chunk(a.Data, n*n) {
		for i, v := range w {
			if v-v != 0 {
				return nil, nil, fmt.Errorf("%s: the weight of %d and %d is %v: want finite numbers",
					a.Source, i/n, i%n, v)
			}
			if v != w[i%n*n+i/n] {
				notes = append(notes, a.Source+": the weights are not symmetric; degrees are the sums of rows")
			}
		}
		m.Tables = append(m.Tables, Table{Block: len(m.Tables), Tokens: n, Dim: n, Values: w})
	}
	if m.Tables == nil {
		return nil, nil, fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	return []*Model{m}, notes, nil
}

// score returns the modularity, the clustering and p of a table, or of weights as they are, and says
// why one of them has no value.
func (o *networkOptions) score(t Table, kind metrics.Distance, modules moduleSet, by nullModel) ([]any, string, error) {
	w := t.Values
	if o.weights == "" {
		d, err := metrics.Distances(t.Values, t.Tokens, t.Dim, kind)
		if err != nil {
			return nil, "", err
		}
		if why := noWeights(t, d, kind); why != "" {
			return []any{None, None, None}, "no scores: " + why, nil
		}
		w = metrics.Proximity(d)
	}
	s, err := metrics.ScoreNetwork(w, modules.Labels)
	if err != nil {
		return nil, "", err
	}
	p := None
	if q := s.Modularity; o.permutations > 0 && Number(q).known() {
		p = Number(metrics.Reached(metrics.Null(by.surrogate(t, w, kind, modules), o.permutations, o.seed), q))
	}
	return []any{Number(s.Modularity), Number(s.Clustering), p}, noScore(w, modules, s), nil
}
