package train

import (
	"fmt"
	"math"
	"slices"

	"torchpe/internal/metrics"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// peTables are the tables, learned or fixed, that an encoding adds to the input of blocks, at the
// places that training uses. They do not include tables that are drawn for each batch.
type peTables struct {
	blocks        [][][]float64 // [blocks with tables][E] tables [N,D]; empty if the scheme has none
	layers        []int         // the block of each
	tokens, width int           // N, D
}

func (e *ensemble) peTables() (p peTables, err error) {
	if e.model.Encoding.Draw().Range > 0 {
		return p, nil
	}
	s := e.resident.ChildNoGrad()
	defer s.Close()
	m := e.task.trainedModel(e)
	err = torchpe.Catch(func() {
		hooks := m.Encoding.Begin(s, m.Config.Positions)
		for layer := range e.config.Layers {
			if x, ok := hooks.Table(layer); ok {
				shape := x.Shape() // [E,N,D]
				p.tokens, p.width = shape[1], shape[2]
				p.layers = append(p.layers, layer)
				p.blocks = append(p.blocks, slices.Collect(slices.Chunk(x.Float64s(), p.tokens*p.width)))
			}
		}
	})
	return p, err
}

// addNormAndRank adds the Frobenius norm and the effective rank of a member's tables, averaged over
// the blocks.
func (p peTables) addNormAndRank(member int, to runlog.Numbers) {
	if len(p.blocks) == 0 {
		return
	}
	var before []float64
	var n, r, norms, ranks float64
	for _, block := range p.blocks {
		// Fixed tables are the same in every block.
		if table := block[member]; !slices.Equal(table, before) {
			n, r, before = frobenius(table), math.NaN(), table
			if isFinite(n) { // else singular values do not exist
				v, err := metrics.Table{Tokens: p.tokens, Dim: p.width, Values: table}.EffectiveRank()
				if err == nil { // a zero table has no rank
					r = v
				}
			}
		}
		norms, ranks = norms+n, ranks+r
	}
	blocks := float64(len(p.blocks))
	to["pe_norm"], to["pe_effective_rank"] = norms/blocks, ranks/blocks
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// frobenius returns the root of the sum of squares.
func frobenius(table []float64) float64 {
	sum := 0.0
	for _, v := range table {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// motionMeter measures how far a trained encoding's tables have moved from their start, relative to
// their norm there: little in lazy training, much in rich training.
type motionMeter struct {
	start peTables
	truth []float64 // [N,D] of the tokens' grid; nil if they lie on none
	maps  bool      // maps are wanted
}

// newMotionMeter copies the tables of an untrained model; it returns nil if no table is trained.
func (e *ensemble) newMotionMeter() (*motionMeter, error) {
	start, err := e.peTables()
	if err != nil || len(start.blocks) == 0 || e.model.EncodingSize() == 0 {
		return nil, err
	}
	m := &motionMeter{start: start, maps: e.config.RecordMaps}
	if p := e.model.Config.Positions; len(p.Cells) == start.tokens && start.width%4 == 0 {
		m.truth, err = gridSinusoids(p, start.width)
	}
	return m, err
}

// gridSinusoids returns the table [N,D] of 2d-fixed, the ground truth of tokens on a grid.
func gridSinusoids(p pe.Positions, width int) ([]float64, error) {
	scheme, err := pe.Find("2d-fixed")
	if err != nil {
		return nil, err
	}
	options, err := scheme.Resolve("code", map[string]string{"pe-placement": "input"})
	if err != nil {
		return nil, err
	}
	ps := torchpe.NewParamSet(1, torchpe.Float64, torchpe.CPU)
	defer ps.Close()
	pc := pe.Config{Members: 1, Layers: 1, Heads: 1, DModel: width, Positions: p, Options: options}
	if _, err := scheme.New(pc, ps); err != nil {
		return nil, err
	}
	if err := ps.Build([]uint64{0}); err != nil {
		return nil, err
	}
	return ps.Values(ps.All()[0].Name)
}

// measure adds the distance of a member's tables from their start. share is from gradientShares.
func (m *motionMeter) measure(member int, now peTables, share float64, to runlog.Numbers) {
	if m == nil {
		return
	}
	to["pe_gradient_share"] = share
	for i, tables := range now.blocks {
		table, start, block := tables[member], m.start.blocks[i][member], now.layers[i]
		change := make([]float64, len(table))
		for k := range table {
			change[k] = table[k] - start[k]
		}
		to[fmt.Sprint("pe_moved/", block)] = frobenius(change) / frobenius(start)
		if m.truth == nil {
			continue
		}
		to[fmt.Sprint("pe_cosine/", block)] = metrics.CosineOf(table, m.truth)
		d, err := metrics.Procrustes(metrics.Table{Tokens: now.tokens, Dim: now.width, Values: table},
			metrics.Table{Tokens: now.tokens, Dim: now.width, Values: m.truth})
		if err == nil { // zero tables have no shape
			to[fmt.Sprint("pe_disparity/", block)] = d.Disparity
		}
	}
}

// mapOf returns a map of a member's first table, if maps are wanted.
func (m *motionMeter) mapOf(member int, now peTables) [][2]float64 {
	if m == nil || !m.maps {
		return nil
	}
	return mapOf(now.blocks[0][member], now.tokens, now.width)
}

// mapOf returns the rows of a table projected onto its first two principal axes, with four digits
// and a largest coordinate of 1; nil if all rows are equal.
func mapOf(table []float64, tokens, width int) (points [][2]float64) {
	at, _, err := metrics.Table{Tokens: tokens, Dim: width, Values: table}.PCA(2)
	if err != nil {
		return nil
	}
	most := 0.0
	for _, v := range at.Values {
		most = max(most, math.Abs(v))
	}
	for i := range tokens {
		x := at.Row(i)
		points = append(points, [2]float64{math.Round(x[0]/most*1e4) / 1e4, math.Round(x[1]/most*1e4) / 1e4})
	}
	return points
}

// addStartCosines adds the cosines of a member's untrained tables with those of 2d-fixed.
func (m *motionMeter) addStartCosines(member int, to runlog.Numbers) {
	if m == nil || m.truth == nil {
		return
	}
	for i, tables := range m.start.blocks {
		to[fmt.Sprint("pe_start_cosine/", m.start.layers[i])] = metrics.CosineOf(tables[member], m.truth)
	}
}

// gradientShares returns, for each member, the norm of the gradient of the PE's parameters divided
// by that of all parameters, at the last training step; NaN before the first.
func (e *ensemble) gradientShares() (shares []float64, err error) {
	shares = make([]float64, e.members())
	err = torchpe.Catch(func() {
		s := e.resident.ChildNoGrad()
		defer s.Close()
		squares := e.model.Params.Grads(s).To(torchpe.Float64, e.device).Square()
		own := squares.Narrow(1, 0, e.model.EncodingColumns()).Sum(1).Float64s()
		for m, all := range squares.Sum(1).Float64s() {
			shares[m] = math.Sqrt(own[m] / all)
		}
	})
	return shares, err
}
