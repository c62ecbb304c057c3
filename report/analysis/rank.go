package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
	"gonum.org/v1/gonum/floats"

	"torchpe/internal/metrics"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
	"torchpe/train/runlog"
)

func newRank() Measure {
	var overTraining bool
	return Measure{
		Use:   "rank RUN... | --table FILE[:tensor]",
		Short: "Norm and effective rank of encodings",
		Long: `Sizes of a table [tokens,dimensions]:

  Frobenius       root of the sum of squares; at the start about sigma * sqrt(tokens * dimensions)
  row norm        mean length of a token's row
  effective rank  exp of the entropy of the singular values, normalised to sum 1 (Roy and
                  Vetterli 2007): how many dimensions are used, 1 to min(tokens, dimensions)

--over-training lists the Frobenius norm and the effective rank that a run recorded as it was
trained (metrics.jsonl), means over its blocks; --out writes them to a .csv file.

JSON: {models: [{source, member, seed, pe, tokens, dim, frobenius, mean_row_norm,
effective_rank, blocks: [{block, frobenius, mean_row_norm, effective_rank}]}]}; those of a model
are means over its blocks. With --over-training: {models: [{source, member, seed, pe, records:
[{step, epoch, frobenius, effective_rank}]}], notes}.`,
		Example: `  torchpe analyze rank runs/lst_learn-0.2_code_seed1 runs/lst_learn-2_code_seed1
  torchpe analyze rank runs/lst_learn-0.2_code_seed1 --over-training --out course.csv
  torchpe analyze rank --table vit.npz:pos_embed --positions 1:197 --json`,
		Block:      All,
		Out:        "with --over-training, write the records to this .csv file",
		Extensions: []string{".csv"},
		Options: func(fl *pflag.FlagSet) {
			fl.BoolVar(&overTraining, "over-training", false,
				"list norm and effective rank by step, as a run recorded them")
		},
		run: func(in *Input) (*Report, error) {
			if overTraining {
				return courses(in)
			}
			return ranks(in)
		},
	}
}

// The columns that --over-training lists, too.
var (
	frobenius     = column{key: "frobenius", heading: "Frobenius"}
	effectiveRank = column{key: "effective_rank", heading: "effective rank"}
)

// ranks measures the sizes of tables.
func ranks(in *Input) (*Report, error) {
	if in.Out != "" {
		return nil, errors.New("--out writes what --over-training lists: give that, too, or redirect --json")
	}
	models, err := in.models()
	if err != nil {
		return nil, err
	}
	numbers := blocks(frobenius, column{key: "mean_row_norm", heading: "row norm"}, effectiveRank)
	found := make([]scores, len(models))
	for i, m := range models {
		if found[i], err = numbers.measure(m, func(_ int, t Table) ([]any, error) {
			norm, rows := 0.0, 0.0
			for row := range t.Tokens {
				length := floats.Norm(t.Values[row*t.Dim:(row+1)*t.Dim], 2)
				rows += length / float64(t.Tokens)
				norm = math.Hypot(norm, length)
			}
			rank, err := metrics.EffectiveRank(t.Values, t.Tokens, t.Dim)
			return []any{Number(norm), Number(rows), Number(rank)}, err
		}); err != nil {
			return nil, err
		}
		found[i].about = Object{{"tokens", m.Tables[0].Tokens}, {"dim", m.Tables[0].Dim}}
	}
	return numbers.report(nil, found), nil
}

// courses lists the norm and effective rank that runs recorded over training, means over blocks.
// Members without them are left out, with a note.
func courses(in *Input) (*Report, error) {
	switch {
	case len(in.Files) > 0 || in.Block != All || in.Positions != "":
		return nil, errors.New("--over-training lists what runs recorded, means over the blocks of whole " +
			"tables: give it without --table, --block and --positions")
	case len(in.Args) == 0:
		return nil, errors.New("no run is named: give the directory of one or more")
	}
	models, err := in.members(in.Args)
	if err != nil {
		return nil, err
	}
	records := map[*cohort.Run][]runlog.Record{}
	var found []scores
	for _, m := range models {
		r := m.member.Run
		if records[r] == nil {
			if records[r], err = r.Records(); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Dir, err)
			}
		}
		s := scores{Subject: m.Subject}
		for _, record := range m.member.Records(records[r]) {
			if norm := record.Measures.Get("pe_norm"); !math.IsNaN(norm) {
				s.parts = append(s.parts, []any{record.Step, record.Epoch, Number(norm),
					Number(record.Measures.Get("pe_effective_rank"))})
			}
		}
		if s.parts == nil {
			in.note("%s: metrics.jsonl records no norm of the encoding %s, which adds no table: left out",
				m.Source, m.PE)
			continue
		}
		found = append(found, s)
	}
	if found == nil {
		return nil, in.nothing("nothing to list")
	}
	course := layout{parts: "records", labels: []column{{key: "step", heading: "step"}, {key: "epoch",
		heading: "epoch"}},
		columns: []column{frobenius, effectiveRank}}
	report := course.report(nil, found)
	report.notes, report.Wrote = in.Notes, []string{"norm and effective rank over training of " +
		wording.Count(len(found), "model")}
	report.File, err = course.csv(found)
	return report, err
}

// csv returns a row a part of a run's member, with an empty cell for what has no value.
func (l layout) csv(all []scores) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{"source", "pe", "member", "seed"}
	for _, c := range append(l.labels, l.columns...) {
		head = append(head, c.key)
	}
	w.Write(head)
	for _, s := range all {
		for _, p := range s.parts {
			row := s.cells()
			for _, v := range p {
				cell := fmt.Sprint(v)
				if n, ok := v.(Number); ok && n.known() {
					cell = strconv.FormatFloat(float64(n), 'g', -1, 64)
				} else if ok {
					cell = ""
				}
				row = append(row, cell)
			}
			w.Write(row)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
