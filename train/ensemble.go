package train

import (
	"torchpe/data"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// ensemble is the model in training with its data on the device.
type ensemble struct {
	config    Config
	model     *models.Model
	optimizer *torchpe.Optimizer
	device    torchpe.Device
	resident  *torchpe.Scope // owns the data; the scopes of steps are inside it
	train     resident
	held      map[string]resident // by split name
	seeds     []uint64
	settings  torchpe.StepSettings
	epochs    *epochOrder
	good      *snapshot // as of the last checkpoint; nil before the first
}

// resident is a split on the device.
type resident struct {
	examples
	onDevice struct{ symbols, probe, target torchpe.Tensor } // [n,N], [n], [n]
}

// epochOrder is the order of one epoch on the device.
type epochOrder struct {
	epoch int
	scope *torchpe.Scope
	index torchpe.Tensor // int64 [E,n]
}

// newEnsemble builds the model and moves the data to its device.
func newEnsemble(c Config, s splits) (*ensemble, error) {
	device, err := torchpe.ParseDevice(c.Device)
	if err != nil {
		return nil, err
	}
	dtype, err := torchpe.ParseDType(c.DType)
	if err != nil {
		return nil, err
	}
	e := &ensemble{config: c, device: device, held: map[string]resident{}}
	var sigma []float64
	for _, m := range c.Members {
		e.seeds = append(e.seeds, m.Seed)
		if m.Sigma != nil {
			sigma = append(sigma, *m.Sigma)
		}
		e.settings.WeightDecay = append(e.settings.WeightDecay, m.WeightDecay)
		e.settings.Active = append(e.settings.Active, true)
	}
	e.settings.LR = make([]float64, len(c.Members))
	e.settings.ClipNorm = c.ClipNorm
	e.model, err = models.New(models.Config{
		Positions: pe.Grid(4, 4), Symbols: 6, Classes: 4,
		Layers: c.Layers, Heads: c.Heads, DModel: c.DModel, FFMultiple: c.FFMultiple, Dropout: c.Dropout,
		TokenInput: models.TokenInput(c.TokenInput), EmbeddingInit: models.EmbeddingInit(c.EmbeddingInit), ReadOut: models.ReadOut(c.ReadOut),
		PE: c.PE, PEOptions: c.PEOptions, Sigma: sigma, Seeds: e.seeds, DType: dtype, Device: device,
	})
	if err != nil {
		return nil, err
	}
	if e.optimizer, err = torchpe.NewOptimizer(torchpe.Method(c.Optimizer), e.model.Params); err != nil {
		e.close()
		return nil, err
	}
	e.resident = torchpe.NewScope()
	err = torchpe.Catch(func() {
		e.train = e.move(s.train)
		for _, x := range []examples{s.iid, s.validation} {
			e.held[x.name] = e.move(x)
		}
	})
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *ensemble) move(x examples) resident {
	r := resident{examples: x}
	if x.n == 0 {
		return r
	}
	r.onDevice.symbols = torchpe.Of(e.resident, e.device, x.symbols, x.n, len(x.symbols)/x.n)
	r.onDevice.probe = torchpe.Of(e.resident, e.device, x.probe, x.n)
	r.onDevice.target = torchpe.Of(e.resident, e.device, x.target, x.n)
	return r
}

func (e *ensemble) close() {
	if e.epochs != nil {
		e.epochs.scope.Close()
	}
	if e.good != nil {
		e.good.scope.Close()
	}
	if e.resident != nil {
		e.resident.Close()
	}
	if e.optimizer != nil {
		e.optimizer.Close()
	}
	if e.model != nil {
		e.model.Close()
	}
}

// members is E.
func (e *ensemble) members() int { return len(e.seeds) }

// stepsPerEpoch counts the batches of an epoch; the last may be smaller.
func (e *ensemble) stepsPerEpoch() int { return (e.train.n + e.config.Batch - 1) / e.config.Batch }

// order returns the order [E,n] of an epoch, kept until another epoch is asked for.
func (e *ensemble) order(epoch int) torchpe.Tensor {
	if e.epochs != nil && e.epochs.epoch == epoch {
		return e.epochs.index
	}
	if e.epochs != nil {
		e.epochs.scope.Close()
	}
	index := make([]int64, 0, e.members()*e.train.n)
	for _, seed := range e.seeds {
		for _, i := range data.Order(seed, epoch, e.train.n) {
			index = append(index, int64(i))
		}
	}
	s := e.resident.Child()
	e.epochs = &epochOrder{epoch: epoch, scope: s, index: torchpe.Of(s, e.device, index, e.members(), e.train.n)}
	return e.epochs.index
}

// batch is the input and the targets [E,B] of one step.
type batch struct {
	models.Input
	target torchpe.Tensor
}

// gather returns the examples that index (int64 [E,B]) names as a batch in s.
func (e *ensemble) gather(s *torchpe.Scope, from resident, index torchpe.Tensor) batch {
	shape := index.Shape()
	flat := index.In(s).Reshape(-1)
	pick := func(t torchpe.Tensor, shape ...int) torchpe.Tensor {
		return t.In(s).IndexSelect(0, flat).Reshape(shape...)
	}
	b := batch{target: pick(from.onDevice.target, shape...)}
	b.Symbols = pick(from.onDevice.symbols, shape[0], shape[1], from.onDevice.symbols.Size(1))
	b.Probe = pick(from.onDevice.probe, shape...)
	b.Positions = e.model.Config.Positions
	return b
}

// draw adds the positions that a Sampler wants for each sample, drawn for member e from its seed and the name of the draw.
func (e *ensemble) draw(s *torchpe.Scope, b *batch, name string) {
	sampler, ok := e.model.Encoding.(pe.Sampler)
	if !ok {
		return
	}
	shape := b.Symbols.Shape() // [E,B,N]
	each := shape[1] * shape[2]
	drawn := make([]float64, shape[0]*each)
	for m, seed := range e.seeds {
		rng := torchpe.Stream(seed, name)
		pe.DrawPositions(rng, shape[2], sampler.MaxPosition(), drawn[m*each:(m+1)*each])
	}
	b.Positions.Drawn = torchpe.Of(s, torchpe.CPU, drawn, shape...).To(e.model.Config.DType, e.device)
}
