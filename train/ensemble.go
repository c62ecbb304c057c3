package train

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/torchpe"
)

// ensemble is the model in training with its task's data on the device.
type ensemble struct {
	config    Config
	task      task
	model     *models.Model
	sized     []*models.Model // its parameters at other positions, of task.otherSizes
	optimizer *torchpe.Optimizer
	device    torchpe.Device
	dtype     torchpe.DType
	resident  *torchpe.Scope // owns the data; the scopes of steps are inside it
	seeds     []uint64
	active    []bool // [E] false for members whose training has ended
	ownPE     bool   // the encoding's parameters have settings of their own
	buffers   *stepBuffers
	graphs    bool      // record steps once and replay them
	repeat    bool      // keep constants on the CPU too, as a GPU needs it: for tests
	snapshot  *snapshot // as of the last checkpoint; nil before the first
}

// newEnsemble builds the model and moves the data to its device.
func newEnsemble(c Config, t task) (*ensemble, error) {
	e, err := emptyEnsemble(c, t)
	if err != nil {
		return nil, err
	}
	e.graphs = e.device != torchpe.CPU && !c.NoGraph && (!c.Deterministic || recordsDeterministic())
	e.active = slices.Repeat([]bool{true}, len(c.Members))
	if err := e.allocate(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// emptyEnsemble returns an ensemble whose model can be built, with nothing on its device.
func emptyEnsemble(c Config, t task) (e *ensemble, err error) {
	e = &ensemble{config: c, task: t}
	if e.device, err = torchpe.ParseDevice(c.Device); err != nil {
		return nil, err
	}
	for _, m := range c.Members {
		e.seeds = append(e.seeds, m.Seed)
	}
	e.dtype, err = torchpe.ParseDType(c.DType)
	return e, err
}

// allocate makes what lies on the device.
func (e *ensemble) allocate() (err error) {
	if e.model, err = e.newModel(); err != nil {
		if outOfMemory(err) || deviceLost(err) {
			return err
		}
		return &ConfigError{err}
	}
	for _, size := range e.task.otherSizes() {
		at, err := e.model.At(size.at)
		if err != nil {
			return fmt.Errorf("%s: %w", size.label, err)
		}
		e.sized = append(e.sized, at)
	}
	own := e.config.OwnPESettings()
	if e.ownPE = own != nil; e.ownPE && e.model.EncodingSize() == 0 {
		return fmt.Errorf("%s: %s has no trained parameters", strings.Join(own, ", "), e.config.PE)
	}
	method := torchpe.Method(e.config.Optimizer)
	if e.optimizer, err = torchpe.NewOptimizer(method, e.model.Params); err != nil {
		return err
	}
	e.resident = torchpe.NewScope()
	err = torchpe.Catch(func() {
		e.buffers = e.newStepBuffers()
		e.task.moveToDevice(e)
	})
	if err != nil {
		return err
	}
	return e.buffers.reset(newTrainSums(e.members()), e.active)
}

// newModel builds the untrained model.
func (e *ensemble) newModel() (*models.Model, error) {
	c := e.config
	encoding, err := c.encoding()
	if err != nil {
		return nil, err
	}
	var sigma []float64
	for _, m := range c.Members {
		if m.Sigma != nil {
			sigma = append(sigma, *m.Sigma)
		}
	}
	mc := models.Config{
		Transformer: c.Transformer, PE: c.PE, PEOptions: encoding.options, Sigma: sigma, PEInit: encoding.start,
		PEDropout: c.PEDropout, InitScale: orElse(c.InitScale, 1), EmbedInitScale: orElse(c.EmbedInitScale, 1),
		Seeds: e.seeds, DType: e.dtype, Device: e.device,
	}
	e.task.configureModel(&mc)
	return models.New(mc)
}

// orElse returns *own, or fallback where own is nil.
func orElse[T any](own *T, fallback T) T {
	if own == nil {
		return fallback
	}
	return *own
}

func (e *ensemble) close() {
	if e.snapshot != nil {
		e.snapshot.scope.Close()
	}
	if e.buffers != nil {
		e.buffers.close()
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

func (e *ensemble) members() int { return len(e.seeds) }
