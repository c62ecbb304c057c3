package train

import (
	"slices"
	"time"

	"torchpe/models/pe"
	"torchpe/torchpe"
)

// SchemeCost compares a training step of one scheme with one without positional encoding.
type SchemeCost struct {
	PE         string  `json:"pe"`
	StepMS     float64 `json:"step_ms"`      // median
	NopeMS     float64 `json:"nope_step_ms"` // median of the steps between
	Ratio      float64 `json:"ratio"`        // of the two
	Loss       float64 `json:"loss"`         // mean over these steps and all members
	Parameters int     `json:"parameters"`   // of the encoding, in a member
	Err        string  `json:"error,omitempty"`
}

// BenchSchemes trains each scheme for some steps of a configuration, one step of it and one of nope
// in turn so that both meet the same machine. It calls report with each scheme's cost, or why it
// could not be trained. The configuration's own scheme and options are ignored.
func BenchSchemes(c Config, names []string, steps int, report func(SchemeCost)) error {
	done, err := c.onDevice()
	if err != nil {
		return err
	}
	defer done()
	nope, err := benchEnsemble(c, "nope")
	if err != nil {
		return err
	}
	defer nope.close()
	if c.Threads, err = nope.setThreads(c.Threads); err != nil {
		return err
	}
	for _, name := range names {
		cost, err := benchScheme(c, nope, name, steps)
		if err != nil {
			cost = SchemeCost{PE: name, Err: err.Error()}
		}
		report(cost)
	}
	return nil
}

// benchEnsemble builds the ensemble of a scheme at its default options.
func benchEnsemble(c Config, name string) (*ensemble, error) {
	scheme, err := pe.Find(name)
	if err != nil {
		return nil, err
	}
	c.PE, c.PEOptions, c.Members = name, nil, slices.Clone(c.Members)
	sigma := 0.2
	for m := range c.Members {
		if c.Members[m].Sigma == nil && scheme.Learned {
			c.Members[m].Sigma = &sigma
		}
	}
	if err := c.Resolve(); err != nil {
		return nil, err
	}
	task, err := newTask(c)
	if err != nil {
		return nil, err
	}
	return newEnsemble(c, task)
}

func benchScheme(c Config, nope *ensemble, name string, steps int) (SchemeCost, error) {
	e, err := benchEnsemble(c, name)
	if err != nil {
		return SchemeCost{}, err
	}
	defer e.close()
	step := func(e *ensemble, i int) (time.Duration, error) {
		start := time.Now()
		if err := e.step(i, steps); err != nil {
			return 0, err
		}
		err := torchpe.Synchronize(e.device)
		return time.Since(start), err
	}
	var with, without []time.Duration
	for i := range steps {
		a, err := step(nope, i)
		if err != nil {
			return SchemeCost{}, err
		}
		b, err := step(e, i)
		if err != nil {
			return SchemeCost{}, err
		}
		with, without = append(with, b), append(without, a)
	}
	slices.Sort(with)
	slices.Sort(without)
	sums, err := e.buffers.sums()
	if err != nil {
		return SchemeCost{}, err
	}
	cost := SchemeCost{
		PE: name, StepMS: ms(with[steps/2]), NopeMS: ms(without[steps/2]),
		Ratio: float64(with[steps/2]) / float64(without[steps/2]), Parameters: e.model.EncodingSize(),
	}
	for _, v := range sums.loss {
		cost.Loss += v / sums.examples / float64(e.members())
	}
	return cost, nil
}
