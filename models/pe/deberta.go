// deberta: disentangled attention. Contents attend to relative positions and relative positions to
// contents, each by projections of their own (He et al. 2021, "DeBERTa", equations 3 and 4).
//
//	logits_ij = (q_i k_j + q_i Kr_{d(i,j)} + k_j Qr_{d(i,j)}) / sqrt(3 Dh)
//	d(i,j) = clip(i-j+K, 0, 2K-1),  Kr = P W_Kr,  Qr = P W_Qr
//
// P in R^{2K x D} is shared by layers, which have their own W; with one of the two terms the
// divisor is sqrt(2 Dh). The paper writes d(j,i) in the last term; the published code has d(i,j) in
// both, and so has this. Of version 2: --deberta-offsets 256/512 for logarithmic buckets of offsets
// beyond half their number, and --deberta-projections content, which maps P by the layer's own
// queries and keys.

package pe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/torchpe"
)

var (
	debertaOffsets = Option{Name: "deberta-offsets", Default: "512", Check: func(v string) error {
		_, _, err := debertaSpan(v)
		return err
	}, Help: "offsets that deberta tells apart: all up to a number K, or buckets / largest " +
		"offset as in 256/512 for logarithmic ones"}
	debertaTerms = Option{Name: "deberta-terms", Default: "both",
		Check: oneOf("both", "c2p", "p2c"),
		Help:  "terms of deberta: content to position, position to content, or both"}
	debertaProjections = Option{Name: "deberta-projections", Default: "own",
		Check: oneOf("own", "content"),
		Help: "projections of the relative positions of deberta to queries and keys: their own, " +
			"or the layer's"}
)

func init() {
	Register(Scheme{
		Name:         "deberta",
		Extrapolates: Always,
		Options:      []Option{debertaOffsets, debertaTerms, debertaProjections},
		New:          newDeBERTa,
	})
}

// debertaSpan parses --deberta-offsets: offsets or buckets on each side, and the largest offset
// that buckets tell apart; 0 without.
func debertaSpan(text string) (span, most int, err error) {
	first, second, bucketed := strings.Cut(text, "/")
	span, err = strconv.Atoi(first)
	if err == nil && bucketed {
		most, err = strconv.Atoi(second)
	}
	switch {
	case err != nil || span < 1 || span > 1<<20 || most < 0 || most > 1<<30:
		return 0, 0, fmt.Errorf("%q is neither a whole number from 1 to %d nor two as in 256/512",
			text, 1<<20)
	case bucketed && (span < 4 || most-1 <= span/2):
		return 0, 0, fmt.Errorf("%q: take at least 4 buckets, and a largest offset above half "+
			"their number plus 1", text)
	}
	return span, most, nil
}

// debertaBucket returns the bucket of an offset: itself up to half the number of buckets, then
// logarithms, rounded as the float32 of the published code are; offsets from most on are most-1.
func debertaBucket(offset, number, most int) int {
	middle := number / 2
	size := max(offset, -offset)
	if size <= middle {
		return offset
	}
	size = min(size, most-1)
	log := float32(math.Log(float64(float32(size) / float32(middle))))
	part := log / float32(math.Log(float64(most-1)/float64(middle))) * float32(middle-1)
	bucket := int(math.Ceil(float64(part))) + middle
	if offset < 0 {
		return -bucket
	}
	return bucket
}

type deberta struct {
	atLogits
	table *torchpe.Param // [E,2K,D]
	// [E,L,D,D]; nil where there is no such term or the layer's own are used
	keyW, queryW *torchpe.Param
	keyB, queryB *torchpe.Param // [E,L,D]
	span, most   int
	terms        string
	scale        float64
}

func newDeBERTa(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	e := &deberta{terms: c.Options.Text(debertaTerms.Name)}
	var err error
	if e.span, e.most, err = debertaSpan(c.Options.Text(debertaOffsets.Name)); err != nil {
		return nil, fmt.Errorf("deberta: --deberta-offsets: %w", err)
	}
	products, d := 2.0, c.DModel
	if e.terms == "both" {
		products = 3
	}
	e.scale = 1 / math.Sqrt(products*float64(c.HeadWidth()))
	e.table = ps.Add("pe.table", true, torchpe.Normal(0, 0.02), 2*e.span, d)
	if c.Options.Text(debertaProjections.Name) == "content" {
		return e, nil
	}
	if e.terms != "p2c" {
		e.keyW, e.keyB = ps.Add("pe.key.weight", true, torchpe.Xavier(d, d), c.Layers, d, d),
			ps.Add("pe.key.bias", true, torchpe.FanIn(d), c.Layers, d)
	}
	if e.terms != "c2p" {
		e.queryW, e.queryB = ps.Add("pe.query.weight", true, torchpe.Xavier(d, d), c.Layers, d, d),
			ps.Add("pe.query.bias", true, torchpe.FanIn(d), c.Layers, d)
	}
	return e, nil
}

func (e *deberta) Attention() Attention { return attentionWithScale(e.scale) }

// row returns d(i,j).
func (e *deberta) row(i, j int) int {
	offset := i - j
	if e.most > 0 {
		offset = debertaBucket(offset, e.span, e.most)
	}
	return max(0, min(2*e.span-1, offset+e.span))
}

// Begin takes the rows of the table between the least and the largest that occur: only these are
// projected.
func (e *deberta) Begin(s *torchpe.Scope, p Positions) Hooks {
	index := pairs(p.Index, e.row)
	first, last := slices.Min(index), slices.Max(index)
	for i := range index {
		index[i] -= first
	}
	table := e.table.In(s).Narrow(1, first, last-first+1)
	return &debertaHooks{
		table: table, keyW: optional(s, e.keyW), keyB: optional(s, e.keyB),
		queryW: optional(s, e.queryW), queryB: optional(s, e.queryB),
		index: indexTensor(s, table.Device(), index, p.Tokens(), p.Tokens()), terms: e.terms,
	}
}

type debertaHooks struct {
	Identity
	table        torchpe.Tensor // [E,R,D]
	keyW, queryW torchpe.Tensor // [E,L,D,D]
	keyB, queryB torchpe.Tensor // [E,L,D]
	index        torchpe.Tensor // [N,N] row for query i and key j
	terms        string
}

// positions returns keys and queries [E,H,R,Dh] of relative positions; those that no term uses may
// be the zero Tensor.
func (h *debertaHooks) positions(a Attn) (keys, queries torchpe.Tensor) {
	heads := a.Q.Size(2)
	if !h.keyW.Defined() && !h.queryW.Defined() {
		q, k, _ := a.Project(h.table.Unsqueeze(1)) // [E,1,H,R,Dh]
		return k.Squeeze(1), q.Squeeze(1)
	}
	if h.keyW.Defined() {
		keys = splitRows(torchpe.Linear(h.table, h.keyW.Select(1, a.Layer),
			h.keyB.Select(1, a.Layer)), heads)
	}
	if h.queryW.Defined() {
		queries = splitRows(torchpe.Linear(h.table, h.queryW.Select(1, a.Layer),
			h.queryB.Select(1, a.Layer)), heads)
	}
	return keys, queries
}

func (h *debertaHooks) Logits(a Attn, logits torchpe.Tensor) torchpe.Tensor {
	return logits.Add(h.Bias(a))
}

func (h *debertaHooks) Bias(a Attn) torchpe.Tensor {
	keys, queries := h.positions(a)
	if h.terms == "p2c" {
		return h.byKey(a, queries)
	}
	byQuery := gatherPairs(byHead(a.Q, keys), h.index).MulScalar(a.Scale)
	if h.terms == "c2p" {
		return byQuery
	}
	return byQuery.Add(h.byKey(a, queries))
}

// byKey returns the term of the queries of positions and the keys of tokens.
func (h *debertaHooks) byKey(a Attn, queries torchpe.Tensor) torchpe.Tensor {
	return gatherPairs(byHead(a.K, queries), h.index.Transpose(0, 1)).Transpose(3, 4).MulScalar(a.Scale)
}
