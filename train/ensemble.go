package train

import (
	"fmt"

	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
)

// ensemble is the model in training with its task's data on the device.
type ensemble struct {
	config    Config
	task      task
	model     *models.Model
	sized     []*models.Model // its parameters at other positions, for evaluation
	optimizer *torchpe.Optimizer
	device    torchpe.Device
	resident  *torchpe.Scope // owns the data; the scopes of steps are inside it
	seeds     []uint64
	settings  torchpe.StepSettings
	stage     *stage
	graphs    bool      // record steps once and replay them
	repeat    bool      // keep constants on the CPU too, as a GPU needs it: for tests
	good      *snapshot // as of the last checkpoint; nil before the first
}

// newEnsemble builds the model and moves the data to its device.
func newEnsemble(c Config, t task) (*ensemble, error) {
	device, err := torchpe.ParseDevice(c.Device)
	if err != nil {
		return nil, err
	}
	dtype, err := torchpe.ParseDType(c.DType)
	if err != nil {
		return nil, err
	}
	e := &ensemble{config: c, task: t, device: device, graphs: device != torchpe.CPU && !c.NoGraph && (!c.Deterministic || recordsDeterministic())}
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
	start, err := pe.ParseInit(c.PEInit, c.PEInitScale, c.Fidelity)
	if err != nil {
		return nil, err
	}
	mc := models.Config{
		Layers: c.Layers, Heads: c.Heads, DModel: c.DModel, FFMultiple: c.FFMultiple, Dropout: c.Dropout,
		PE: c.PE, PEOptions: c.PEOptions, Sigma: sigma, PEInit: start, PEDropout: c.PEDropout, InitScale: orElse(c.InitScale, 1), Seeds: e.seeds, DType: dtype, Device: device,
	}
	t.shape(&mc)
	if e.model, err = models.New(mc); err != nil {
		return nil, err
	}
	if err := e.atSizes(); err != nil {
		e.close()
		return nil, err
	}
	if err := e.groupPE(); err != nil {
		e.close()
		return nil, err
	}
	if e.optimizer, err = torchpe.NewOptimizer(torchpe.Method(c.Optimizer), e.model.Params); err != nil {
		e.close()
		return nil, err
	}
	e.resident = torchpe.NewScope()
	err = torchpe.Catch(func() {
		e.stage = e.newStage()
		t.move(e)
	})
	if err == nil {
		err = e.stage.begin(newRunning(e.members()), e.settings.Active)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// groupPE makes a group of the encoding's parameters where they have settings of their own.
func (e *ensemble) groupPE() error {
	if !e.config.ownPESettings() {
		return nil
	}
	if e.model.EncodingSize() == 0 {
		return fmt.Errorf("--pe-lr, --pe-weight-decay, --pe-warmup-steps: %s has no trained parameters", e.config.PE)
	}
	g := torchpe.Group{To: e.model.EncodingColumns(), LR: make([]float64, len(e.seeds))}
	for _, m := range e.config.Members {
		g.WeightDecay = append(g.WeightDecay, orElse(m.PEWeightDecay, m.WeightDecay))
	}
	e.settings.Groups = []torchpe.Group{g}
	return nil
}

func (e *ensemble) close() {
	if e.good != nil {
		e.good.scope.Close()
	}
	if e.stage != nil {
		e.stage.close()
	}
	if e.resident != nil {
		e.resident.Close()
	}
	if e.optimizer != nil {
		e.optimizer.Close()
	}
	for _, m := range e.sized {
		m.Close()
	}
	if e.model != nil {
		e.model.Close()
	}
}

// members is E.
func (e *ensemble) members() int { return len(e.seeds) }

// draw adds the positions that a Sampler wants for each sample, drawn for member e from its seed and the name of the draw.
// B is the number of samples.
func (e *ensemble) draw(s *torchpe.Scope, in *models.Input, B int, name string) {
	sampler, ok := e.model.Encoding.(pe.Sampler)
	if !ok {
		return
	}
	n := in.Positions.Tokens()
	in.Positions.Drawn = torchpe.Of(s, torchpe.CPU, e.drawPositions(sampler, B, n, name), e.members(), B, n).To(e.model.Config.DType, e.device)
}
