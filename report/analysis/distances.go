package analysis

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
	"torchpe/internal/metrics"
	"torchpe/internal/wording"
)

var distanceHelp = "between tokens: " + strings.Join(metrics.DistanceNames(), ", ")

// parseDistance reads the value of --distance.
func parseDistance(name string) (metrics.Distance, error) {
	d, err := metrics.ParseDistance(name)
	if err != nil {
		return d, fmt.Errorf("--distance: %w%s", err, wording.Hint(name, metrics.DistanceNames()))
	}
	return d, nil
}

func newDistances() Measure {
	var distance string
	return Measure{
		Use:   "distances RUN | --table FILE[:tensor]",
		Short: "Distances between the encodings of tokens",
		Long: `Distances between the rows a, b of a table:

  euclidean     |a - b|
  sign-aligned  min(|a - b|, |a + b|): Procrustes of two columns
  corr2         1 - corr(a,b)^2: scipy.spatial.procrustes of two columns
  cosine        1 - a.b / (|a| |b|)

The paper aligns the two by a Procrustes transform but does not say which matrices; these are
possible readings. Up to 20 tokens are printed; for more, use --out or --json.

All members of a run are measured separately; --member chooses one. --out m.csv holds one member,
with the names of the tokens; --out m.npy is [tokens,tokens], or [members,tokens,tokens] for several
members.

JSON: {models: [{source, member, seed, pe, block, distance, tokens, distances: [[...]]}], notes};
notes say why a distance has no value.`,
		Example: `  torchpe analyze distances runs/lst_learn-0.2_code_seed1
  torchpe analyze distances runs/fmri --block 1 --out distances.csv
  torchpe analyze distances --table bert.safetensors:embeddings.position_embeddings.weight \
    --distance cosine --out d.npy`,
		Out:        "write the distances to this .csv or .npy file",
		Extensions: []string{".csv", ".npy"},
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&distance, "distance", "euclidean", distanceHelp)
		},
		run: func(in *Input) (*Report, error) {
			kind, err := parseDistance(distance)
			if err != nil {
				return nil, err
			}
			return distances(in, kind)
		},
	}
}

// mostShown limits the tokens of a matrix that is printed as a table.
const mostShown = 20

// distances returns the distances between the tokens of each model's table.
func distances(in *Input, kind metrics.Distance) (*Report, error) {
	models, err := in.oneTable()
	if err != nil {
		return nil, err
	}
	first := models[0]
	n, names := first.Tables[0].Tokens, first.tokenNames()
	switch {
	case n > mostShown && in.Out == "" && !in.JSON:
		return nil, fmt.Errorf("%s: %d tokens make a table too large to read: use --out FILE.csv, --json "+
			"or --positions", first.Source, n)
	case len(models) > 1 && in.extension() == ".csv":
		return nil, fmt.Errorf("--out %s: a .csv holds one matrix, and %s has %d members: choose one with --member, "+
			"or write .npy", in.Out, first.Source, len(models))
	}
	r := &Report{}
	file := text.Table{Columns: names, Rows: names, Array: array.Array{Shape: []int{n, n}}}
	if len(models) > 1 {
		file.Shape = []int{len(models), n, n}
	}
	var lead [][]string
	for _, name := range names {
		lead = append(lead, []string{name})
	}
	var found []Object
	for _, m := range models {
		t := m.Tables[0]
		d := t.Distances(kind)
		if why := noDistances(t, d, kind); why != "" {
			r.notes = append(r.notes, m.Source+": "+why)
		}
		matrix := numbers(d, n)
		found = append(found, append(m.object(), Object{{"block", t.Block}, {"distance", kind.String()},
			{"tokens", names}, {"distances", matrix}}...))
		file.Data = append(file.Data, d...)
		foot := fmt.Sprintf("%s distances between %s of %s, block %d", kind, wording.Count(n, "token"),
			m.label(), t.Block)
		r.Tables = append(r.Tables, numberTable(append([]string{kind.String()}, names...), lead, matrix, foot))
	}
	r.JSON = Object{{"models", found}}
	if in.Out == "" {
		return r, nil
	}
	var b bytes.Buffer
	if in.extension() == ".npy" {
		err = npy.Write(&b, file.Array, npy.Float64)
	} else {
		err = text.Write(&b, file)
	}
	r.File = b.Bytes()
	return r, err
}
