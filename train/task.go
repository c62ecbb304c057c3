package train

import (
	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// task is one kind of data with its loss and its measures. Methods that take a scope panic with
// *torchpe.Error, as operators do.
type task interface {
	dataset
	objective
	evaluation
}

// dataset describes the data of a task to newEnsemble, and identifies it for checkpoints.
type dataset interface {
	// fingerprint returns the SHA-256 over the data.
	fingerprint() string
	// notes returns sentences about the data that a user should read before training.
	notes() []string
	// configureModel sets what the data decide of the model's configuration.
	configureModel(c *models.Config)
	// otherSizes returns at which positions besides those of configureModel the model is needed.
	otherSizes() []size
	// moveToDevice puts the data on the device.
	moveToDevice(e *ensemble)
	// stepsPerEpoch counts the steps that see every training example once.
	stepsPerEpoch() int
}

// objective is the part of a task that training steps use.
type objective interface {
	// inputs returns the host's inputs of a step (from 0). It runs beside the step before.
	inputs(e *ensemble, step int) stepInputs
	// loss runs a step's examples forward. It may not read from the host: see torchpe.Graph.
	loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss
}

// evaluation is the part of a task that records and results use.
type evaluation interface {
	// measure measures the held-out examples and the PE's tables. fill then writes member m's part
	// of a record, from these and the sums since the last record.
	measure(e *ensemble, step int, tables peTables) (
		fill func(m int, r *runlog.Record, sums trainSums), err error)
	// probes returns tensors from inside the trained model, and metadata for their file.
	probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error)
	// memberResult writes a member's final numbers, which are NaN, from its last record; that is nil
	// if it diverged.
	memberResult(last *runlog.Record, r *runlog.MemberResult)
	// completeResult adds what all members share.
	completeResult(r *runlog.Result)
}

// size is positions at which a model is needed, and what an error about them begins with.
type size struct {
	at    pe.Positions
	label string
}

// stepLoss is the result of a training step's forward pass.
type stepLoss struct {
	each    torchpe.Tensor // [E] mean loss of each member
	correct torchpe.Tensor // float64 [E] correct answers; the zero Tensor where there are none
}

// tensorList collects the tensors of a file, and the first error.
type tensorList struct {
	all []safetensors.Tensor
	err error
}

func addTensor[T safetensors.Element](l *tensorList, name string, shape []int, values []T) {
	t, err := safetensors.New(name, shape, values)
	if l.err == nil {
		l.err = err
	}
	l.all = append(l.all, t)
}

// newTask reads or generates the data of a configuration.
func newTask(c Config) (task, error) {
	if c.Masked != nil {
		return newMaskedTask(c)
	}
	if c.Sequence != nil {
		return newSequenceTask(c)
	}
	s, err := load(c)
	if err != nil {
		return nil, err
	}
	return newLSTTask(c, s)
}
