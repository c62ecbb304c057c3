package analysis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"torchpe/internal/metrics"
	"torchpe/report/cohort"
)

// toeplitzOptions selects the projections of scores, and the random orders that estimate chance.
type toeplitzOptions struct {
	projectionFiles
	shuffles int // random orders of the tokens
	seed     uint64
}

func newToeplitz() Measure {
	var o toeplitzOptions
	return Measure{
		Use:   "toeplitz RUN... | --table FILE[:tensor]",
		Short: "Whether an encoding depends on the differences of positions alone",
		Long: `Toeplitzness (Wennberg and Henter 2021, arXiv 2106.01950, sections 3.1 and 3.2, appendix B):
the share of variance of a matrix's elements that the best Toeplitz matrix explains,

  R^2 = 1 - RSS / TSS,

1 if elements depend only on the difference of their indices. The index of a token is its place by the
run's --positions, else its number. The best Toeplitz matrix has the mean of each diagonal. R^2 is taken of

  R^2            E E^T, the inner products of the table E
  R^2 centred    the same after the mean row is subtracted from E
  R^2 attention  E Wq Wk^T E^T of each head, the positional part of attention scores: with the
                 weights of a run's checkpoint, or those of --query and --key

Shuffled is the mean of the same over random orders of the tokens, and p the share of orders that
reach R^2. It is not 0: the product of each row with itself lies on the diagonal, which alone makes a
random table of n tokens and d dimensions about d/(d+n) Toeplitz. Only an R^2 above that is evidence.

--words adds the mean of word embeddings to each row of E in the scores, which are then those of the
paper's appendix C, apart from a constant. Use only --positions that the model was trained on: most
BERTs saw few texts longer than 128 tokens.

JSON: {models: [{source, member, seed, pe, positions, dim, r2, r2_shuffled, r2_centred, attention,
attention_shuffled, blocks: [{block, r2, r2_shuffled, p, r2_centred, attention: [of each head],
attention_shuffled}]}], notes}; the numbers of a model are means over its blocks. Notes say why a number
has no value.`,
		Example: `  torchpe analyze toeplitz runs/nmar_1d-fixed_code_seed1
  torchpe analyze toeplitz --table model.safetensors:embeddings.position_embeddings.weight --positions 0:128
  torchpe analyze toeplitz --table m.safetensors:embeddings.position_embeddings.weight --heads 12 \
      --query m.safetensors:encoder.layer.0.attention.self.query.weight \
      --key m.safetensors:encoder.layer.0.attention.self.key.weight \
      --words m.safetensors:embeddings.word_embeddings.weight`,
		Block: All,
		options: func(fl *pflag.FlagSet) {
			fl.StringVar(&o.query, "query", "", "FILE[:tensor], weights of the queries [outputs,inputs]")
			fl.StringVar(&o.key, "key", "", "FILE[:tensor], weights of the keys [outputs,inputs]")
			fl.IntVar(&o.heads, "heads", 1, "heads that the outputs of --query and --key are split into")
			fl.BoolVar(&o.inOut, "in-out", false, "the weights are [inputs,outputs], as in E W (TensorFlow)")
			fl.StringVar(&o.words, "words", "", "FILE[:tensor], word embeddings [words,dimensions]; their mean "+
				"is added to each row in the scores")
			fl.IntVar(&o.shuffles, "shuffles", 100, "random orders of the tokens to compare R^2 with; 0 = none")
			fl.Uint64Var(&o.seed, "seed", 0, "seed of the random orders")
		},
		run: o.run,
	}
}

// run measures the translation invariance of tables (Wennberg and Henter 2021, section 3 and appendix B)
// and of the positional part of attention scores. Projections come from files, or from the block of the
// run's checkpoint that adds the table to its input.
func (o *toeplitzOptions) run(in *Input) (*Report, error) {
	switch {
	case o.shuffles < 0:
		return nil, fmt.Errorf("--shuffles %d: want 0 or more", o.shuffles)
	case o.shuffles == 0 && in.given("seed"):
		return nil, fmt.Errorf("--seed %d with --shuffles 0: no order is drawn: leave out one of them", o.seed)
	case o.heads < 1:
		return nil, fmt.Errorf("--heads %d: want at least 1", o.heads)
	case (o.heads > 1 || o.inOut) && !o.given():
		return nil, errors.New("--heads and --in-out say how to read --query and --key: give these too")
	}
	models, err := in.models()
	if err != nil {
		return nil, err
	}
	projections := make([][]*projection, len(models)) // of each table
	weights := map[*cohort.Run]*cohort.Weights{}
	for i, m := range models {
		if models[i], err = m.inOrder(); err != nil {
			return nil, err
		}
		if o.given() {
			p, err := o.read(m.Tables[0].Dim, in.Header)
			if err != nil {
				return nil, err
			}
			projections[i] = slices.Repeat([]*projection{p}, len(m.Tables))
		} else if projections[i], err = in.ownProjections(m, weights); err != nil {
			return nil, err
		}
	}
	numbers := blocks(column{key: "r2", heading: "R²"}, column{key: "r2_shuffled", heading: "shuffled"},
		column{key: "p", heading: "p", partsOnly: true}, column{key: "r2_centred", heading: "R² centred"},
		column{key: "attention", heading: "R² attention, by head"},
		column{key: "attention_shuffled", heading: "shuffled"})
	found := make([]scores, len(models))
	for i, m := range models {
		found[i] = numbers.measure(m, func(k int, t Table) ([]any, string) { return o.measure(t, projections[i][k]) })
		t := m.Tables[0]
		found[i].about = Object{{"positions", [2]int{m.from, m.from + t.Tokens}}, {"dim", t.Dim}}
	}
	return numbers.report(nil, found), nil
}

// measure returns, for a table E: R^2 of E E^T, its mean over random orders of the tokens, the share of orders
// that reach it, R^2 without the mean row of E, and R^2 of each head's positional scores with their mean over
// random orders. The last two are missing if p is nil. If values are missing, why is the first reason.
func (o *toeplitzOptions) measure(t Table, p *projection) (values []any, why string) {
	var lack []string
	of := func(what string, m []float64, shuffles int) (r2, shuffled, share Number) {
		r2, shuffled, share, err := o.r2(m, t.Tokens, shuffles)
		if err != nil {
			lack = append(lack, what)
			if why == "" {
				why = reason(err)
			}
		}
		return r2, shuffled, share
	}
	r2, shuffled, share := of("R²", t.Gram(), o.shuffles)
	about, _, _ := of("R² centred", t.Centred().Gram(), 0)
	var heads perHead
	var shuffledHeads []Number
	for h, scores := range p.scores(t) {
		r2, shuffled, _ := of(fmt.Sprintf("R² of head %d", h), scores, o.shuffles)
		heads, shuffledHeads = append(heads, r2), append(shuffledHeads, shuffled)
	}
	if why != "" {
		why = fmt.Sprintf("no %s: %s", strings.Join(lack, ", "), why)
	}
	return []any{r2, shuffled, share, about, heads, meanOf(shuffledHeads)}, why
}

// streamShuffle makes the draws independent of others with the same seed.
const streamShuffle = 0x73687566 // "shuf"

// r2 returns the R^2 of a matrix [n,n], its mean over so many random orders of the tokens, and the share of
// orders that reach it. The mean is above 0: because of its diagonal alone, the Gram matrix of a random
// table of n tokens and d dimensions has an R^2 of about d/(d+n).
func (o *toeplitzOptions) r2(m []float64, n, shuffles int) (r2, mean, share Number, err error) {
	own, err := metrics.ToeplitzR2(m, n)
	if err != nil {
		return None, None, None, err
	}
	if shuffles == 0 {
		return Number(own), None, None, nil
	}
	rng := rand.New(rand.NewPCG(o.seed, streamShuffle))
	null, shuffled := make([]float64, shuffles), make([]float64, n*n)
	for k := range null {
		order := rng.Perm(n)
		for i, from := range order {
			for j, other := range order {
				shuffled[i*n+j] = m[from*n+other]
			}
		}
		if null[k], err = metrics.ToeplitzR2(shuffled, n); err != nil {
			return None, None, None, err
		}
	}
	return Number(own), meanOf(numbers(null, shuffles)[0]), Number(metrics.Reached(null, own)), nil
}
