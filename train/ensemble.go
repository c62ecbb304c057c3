package train

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"torchpe/models"
	"torchpe/torchpe"
)

// ensemble is the model being trained, with its task's data on the device.
type ensemble struct {
	config    Config
	task      task
	model     *models.Model
	sized     []*models.Model // the same parameters at the positions of task.otherSizes
	optimizer *torchpe.Optimizer
	device    torchpe.Device
	dtype     torchpe.DType
	resident  *torchpe.Scope // owns the data; the scopes of steps are inside it
	seeds     []uint64
	active    []bool // [E] false for members whose training has ended
	ownPE     bool   // the encoding's parameters have settings of their own
	buffers   *stepBuffers
	graphs    bool      // record steps once and replay them
	repeat    bool      // keep constants on the CPU too, as on a GPU; for tests
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

// emptyEnsemble returns an ensemble whose model can be built, without data on the device.
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

// allocate creates everything on the device.
func (e *ensemble) allocate() (err error) {
	if err := e.buildModels(); err != nil {
		if outOfMemory(err) || deviceLost(err) {
			return err
		}
		return &ConfigError{err}
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

// buildModels builds the untrained model, also at the other sizes that the task measures.
func (e *ensemble) buildModels() (err error) {
	if e.model, err = e.newModel(); err != nil {
		return err
	}
	for _, size := range e.task.otherSizes() {
		at, err := e.model.At(size.at)
		if err != nil {
			return fmt.Errorf("%s: %w", size.label, err)
		}
		e.sized = append(e.sized, at)
	}
	return nil
}

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

// orElse returns *own, or fallback if own is nil.
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

// recordsDeterministic reports whether a CUDA graph can record libtorch's deterministic operators. Before
// 2.10 some of them read sizes on the host.
func recordsDeterministic() bool { return torchpe.LibtorchAtLeast(2, 10) }

// onDevice prepares the calling goroutine for the configuration's device: a thread of its own, on a
// GPU a stream of its own, the precision of products and the form of attention. done undoes this.
func (c Config) onDevice() (done func(), err error) {
	device, err := torchpe.ParseDevice(c.Device)
	if err != nil {
		return nil, err
	}
	if c.Attention == "flash" && device != torchpe.CPU && !torchpe.LibtorchAtLeast(2, 6) {
		return nil, fmt.Errorf("--attention flash needs libtorch 2.6, but this is %s: use efficient",
			torchpe.DescribeSystem().LibtorchRunning)
	}
	runtime.LockOSThread()
	before, attention := torchpe.Precision(), torchpe.AttentionForm()
	err = torchpe.SetPrecision(c.precisionOn(device))
	if err == nil && c.Attention != "" {
		err = torchpe.SetAttentionForm(c.Attention)
	}
	if err == nil && c.Deterministic {
		err = torchpe.SetDeterministic(true)
	}
	var back func()
	if err == nil {
		back, err = torchpe.OwnStream(device)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() {
		back()
		// The previous value is valid, and turning a setting off cannot fail.
		_ = torchpe.SetPrecision(before)
		_ = torchpe.SetAttentionForm(attention)
		if c.Deterministic {
			_ = torchpe.SetDeterministic(false)
		}
		runtime.UnlockOSThread()
	}, nil
}

// worthThread is the least speed-up for which the number of threads is doubled: two CPUs that share
// a core gain nothing.
const worthThread = 1.25

// setThreads sets the number of threads and returns it; 0 stands for the fastest.
func (e *ensemble) setThreads(n int) (_ int, err error) {
	if n == 0 {
		if n, err = e.calibrate(); err != nil {
			return 0, err
		}
	}
	torchpe.SetThreads(n)
	return n, nil
}

// calibrate finds the number of threads for this model's step: it doubles the number as long as the
// step becomes faster. The result is stored with the run, so that a repetition computes the same.
func (e *ensemble) calibrate() (int, error) {
	if e.device != torchpe.CPU {
		return 1, nil
	}
	best := 1
	fastest, err := e.timeStep(best)
	for n := 2; err == nil && n <= min(runtime.NumCPU(), 16); n *= 2 {
		var took time.Duration
		if took, err = e.timeStep(n); err != nil || float64(took)*worthThread > float64(fastest) {
			break
		}
		best, fastest = n, took
	}
	return best, err
}

// timeStep returns the shortest time of three steps. No member is active, so no parameter changes.
func (e *ensemble) timeStep(threads int) (time.Duration, error) {
	torchpe.SetThreads(threads)
	nothing := newTrainSums(e.members())
	defer e.optimizer.SetSteps(e.optimizer.Steps())
	if err := e.buffers.reset(nothing, make([]bool, e.members())); err != nil {
		return 0, err
	}
	shortest := time.Duration(1<<63 - 1)
	for range 3 {
		start := time.Now()
		if err := e.step(0, 1); err != nil {
			return 0, err
		}
		shortest = min(shortest, time.Since(start))
	}
	return shortest, e.buffers.reset(nothing, e.active)
}

// peakRSSMB returns the peak resident memory of this process in megabytes.
func peakRSSMB() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024 // Linux counts in KiB
}
