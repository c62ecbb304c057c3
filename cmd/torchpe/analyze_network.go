package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/analysis"
)

// analyzeNetworkFlags holds the flags of "torchpe analyze network".
type analyzeNetworkFlags struct {
	tableFlags
	weights, modules, distance string
	null, coordinates, apart   string
	permutations               int
	seed                       uint64
}

func newAnalyzeNetworkCommand() *cobra.Command {
	var f analyzeNetworkFlags
	cmd := &cobra.Command{
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
		RunE: f.run,
	}
	f.add(cmd, analysis.All)
	fl := cmd.Flags()
	fl.StringVar(&f.weights, "weights", "", "score the weights [n,n] of FILE[:tensor] as they are but for the "+
		"diagonal, instead of tables")
	fl.StringVar(&f.modules, "modules", "", "FILE, rows or columns (default: those that the run keeps)")
	fl.StringVar(&f.distance, "distance", "euclidean", distanceHelp())
	fl.IntVar(&f.permutations, "permutations", 0, "surrogates for p; 0 = no test")
	fl.StringVar(&f.null, "null", analysis.Permute, "surrogates: "+strings.Join(analysis.Nulls(), ", "))
	fl.StringVar(&f.coordinates, "coordinates", "",
		"where tokens lie: FILE[:tensor] with a row a token, or grid (default: where the run keeps it)")
	fl.StringVar(&f.apart, "distances", "", "distances between tokens: FILE[:tensor], in place of --coordinates")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the surrogates")
	return cmd
}

func (f *analyzeNetworkFlags) run(cmd *cobra.Command, args []string) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	distance, err := parseDistance(f.distance)
	if err != nil {
		return err
	}
	if f.permutations < 0 {
		return usagef("--permutations %d: want 0 or more", f.permutations)
	}
	if err := f.checkNull(); err != nil {
		return err
	}
	o := analysis.NetworkOptions{Distance: distance, Permutations: f.permutations, Seed: f.seed,
		Null: f.null, Coordinates: f.coordinates, Distances: f.apart, Header: f.header}
	var scores []analysis.Network
	var said []string
	if f.weights != "" {
		if len(args)+len(f.tables) > 0 || f.positions != "" {
			return usagef("--weights is scored as it is: give it without runs, --table and --positions")
		}
		scores = make([]analysis.Network, 1)
		if scores[0], said, err = analysis.Weights(f.weights, f.modules, o); err != nil {
			return usageError{err}
		}
	} else {
		models, err := f.models(args, notes)
		if err != nil {
			return err
		}
		if scores, said, err = analysis.Networks(models, f.modules, o); err != nil {
			return usageError{err}
		}
	}
	note(notes, said)
	return f.print(out, scores, said)
}

// checkNull says which flags of the surrogates cannot go together.
func (f *analyzeNetworkFlags) checkNull() error {
	where := f.coordinates != "" || f.apart != ""
	switch {
	case !slices.Contains(analysis.Nulls(), f.null):
		return usagef("--null %q is none of %s%s", f.null, strings.Join(analysis.Nulls(), ", "),
			wording.Hint(f.null, analysis.Nulls()))
	case f.coordinates != "" && f.apart != "":
		return usagef("--coordinates and --distances both say where tokens lie: give one")
	case f.null == analysis.Permute && where:
		return usagef("--null permute does not ask where tokens lie: with --coordinates or --distances " +
			"give --null moran or spin")
	case f.null != analysis.Permute && f.permutations == 0:
		return usagef("--null %s without --permutations: say how many surrogates, such as 999", f.null)
	case f.null == analysis.Moran && f.weights != "":
		return usagef("--null moran draws tables, and --weights has none: give --table, or --null spin")
	}
	return nil
}

func (f *analyzeNetworkFlags) print(out io.Writer, scores []analysis.Network, notes []string) error {
	distance := f.distance
	if f.weights != "" {
		distance = ""
	}
	if f.json {
		return printJSON(out, struct {
			Distance     string             `json:"distance,omitempty"`
			Permutations int                `json:"permutations"`
			Null         string             `json:"null"`
			Seed         uint64             `json:"permutation_seed"`
			Models       []analysis.Network `json:"models"`
			Notes        []string           `json:"notes,omitempty"`
		}{distance, f.permutations, f.null, f.seed, scores, notes})
	}
	var rows [][]string
	for _, s := range scores {
		for _, b := range s.Blocks {
			rows = append(rows, row(subject(s.Subject), b.Block, b.Modularity, b.Clustering, b.P))
		}
		if len(s.Blocks) > 1 {
			rows = append(rows, row(subject(s.Subject), "mean", s.Modularity, s.Clustering, "–"))
		}
	}
	head := row(subjectHead, "block", "modularity Q", "clustering C", "p")
	if f.permutations == 0 {
		head = head[:len(head)-1]
		for i := range rows {
			rows[i] = rows[i][:len(head)]
		}
	}
	printModels(out, head, rows)
	how := scores[0].ModulesFrom
	if from := scores[0].PlacesFrom; from != "" {
		how += fmt.Sprintf("; p by %s surrogates, %s", f.null, from)
	}
	fmt.Fprintf(out, "%s of %s, %s\n", wording.Count(scores[0].Modules, "module"),
		wording.Count(scores[0].Tokens, "token"), how)
	return nil
}
