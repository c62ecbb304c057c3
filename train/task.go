package train

import (
	"torchpe/models"
	"torchpe/torchpe"
	"torchpe/train/runlog"
	"torchpe/train/runlog/safetensors"
)

// task is one kind of data with its loss and its measures. Methods that take a scope panic with *torchpe.Error, as
// operators do.
type task interface {
	// fingerprint is the SHA-256 over the data.
	fingerprint() string
	// notes are sentences about the data that a user should read before training.
	notes() []string
	// shape completes the model's configuration with what the data decide.
	shape(c *models.Config)
	// move puts the data on the device.
	move(e *ensemble)
	// stepsPerEpoch counts the steps that see every training example once.
	stepsPerEpoch() int
	// inputs returns what training step number step (from 0) takes from the host. It is called beside a running step.
	inputs(e *ensemble, step int) stepInputs
	// loss runs a training step's examples forward. It reads nothing from the host, so that a graph can record it.
	loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss
	// record measures the held-out examples, and what tables says; fill then writes member m's part of a record, from these and
	// the sums since the last one.
	record(e *ensemble, step int, tables peTables) (fill func(m int, r *runlog.Record, sums running), err error)
	// result writes a member's final numbers, from its last record, or NaN where diverged.
	result(last *runlog.Record, r *runlog.MemberResult)
	// finish adds what the whole ensemble shares to the result.
	finish(r *runlog.Result)
	// probes returns what the trained model does inside, and what the file should say about it.
	probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error)
}

// stepLoss is what a training step saw.
type stepLoss struct {
	each    torchpe.Tensor // [E] mean loss of each member
	correct torchpe.Tensor // float64 [E] right answers; the zero Tensor where there is no right or wrong
}

// newTask reads or generates the data of a configuration.
func newTask(c Config) (task, error) {
	if c.Masked != nil {
		return newMaskedTask(c)
	}
	s, err := load(c)
	if err != nil {
		return nil, err
	}
	return newLSTTask(c, s)
}
