package train

import (
	"torchpe/data/array/safetensors"
	"torchpe/models"
	"torchpe/models/pe"
	"torchpe/torchpe"
	"torchpe/train/runlog"
)

// task is one kind of data with its loss and its measures. Methods that take a scope panic with
// *torchpe.Error, as operators do. The facts that need no libtorch are in config.TaskFacts.
type task interface {
	dataset
	objective
	evaluation
}

// taskMaker makes a task.
type taskMaker struct {
	// read reads or generates the data of a configuration.
	read func(c Config) (task, error)
	// empty returns the task without data; it is nil if the model depends on the data.
	empty func(c Config) (task, error)
}

// taskMakers has the makers by name of the task. The file of each task adds its own.
var taskMakers = map[string]taskMaker{}

func (c Config) maker() taskMaker { return taskMakers[c.Facts().Name] }

func newTask(c Config) (task, error) { return c.maker().read(c) }

// dataset describes the data of a task to newEnsemble, and identifies it for checkpoints.
type dataset interface {
	// fingerprint returns the SHA-256 over the data.
	fingerprint() string
	// notes returns notes about the data for the user, to be shown before training.
	notes() []string
	// describeRows adds to the metadata of the probes what rows of parameters stand for, if that is
	// not the same for all data: the tokens and their places, or the characters.
	describeRows(about map[string]string) error
	// configureModel sets the model settings that the data determine.
	configureModel(c *models.Config)
	// otherSizes returns the positions, besides those of configureModel, at which the model is needed.
	otherSizes() []size
	// moveToDevice puts the data on the device.
	moveToDevice(e *ensemble)
	// stepsPerEpoch returns the number of steps that see every training example once.
	stepsPerEpoch() int
}

// objective is the part of a task that training steps use.
type objective interface {
	// inputs returns the host's inputs of a step (from 0). It runs during the previous step.
	inputs(e *ensemble, step int) stepInputs
	// loss runs the forward pass of a step's examples. It must not read from the host: see
	// torchpe.Graph.
	loss(e *ensemble, s *torchpe.Scope, in deviceInputs) stepLoss
}

// evaluation is the part of a task that records and results use.
type evaluation interface {
	// measure measures the held-out examples and the PE's tables. fill then adds these measures and
	// those of the sums since the last record to member m's record.
	measure(e *ensemble, tables peTables) (fill measuresFiller, err error)
	// trainedModel returns the model at the places that training uses: only their rows of tables are
	// measured.
	trainedModel(e *ensemble) *models.Model
	// probes returns tensors from inside the trained model, and metadata for their file.
	probes(e *ensemble, step int) ([]safetensors.Tensor, map[string]string, error)
	// addFinal adds measures of a member that were taken with the probes to its result.
	addFinal(member int, to runlog.Numbers)
	// checkMeasured returns an error if a model of a configuration with the same data cannot be
	// measured on all held-out data.
	checkMeasured(c Config) error
	// completeResult adds what all members share.
	completeResult(r *runlog.Result)
	// trainingSums returns the sums for the last record of an imported model, measured anew.
	trainingSums(e *ensemble) (trainSums, error)
}

// taskDefaults has defaults for methods that a task may not need.
type taskDefaults struct{}

func (taskDefaults) otherSizes() []size                     { return nil }
func (taskDefaults) trainedModel(e *ensemble) *models.Model { return e.model }
func (taskDefaults) moveToDevice(*ensemble)                 {}
func (taskDefaults) addFinal(int, runlog.Numbers)           {}
func (taskDefaults) completeResult(*runlog.Result)          {}
func (taskDefaults) checkMeasured(Config) error             { return nil }

//nolint:unparam // the error is that of the interface
func (taskDefaults) trainingSums(e *ensemble) (trainSums, error) {
	return newTrainSums(e.members()), nil
}

// measuresFiller adds the measures of member m.
type measuresFiller func(m int, to runlog.Numbers, sums trainSums)

// size is positions at which a model is needed, and the start of errors about them.
type size struct {
	at    pe.Positions
	label string
}

// stepLoss is the result of a training step's forward pass.
type stepLoss struct {
	each    torchpe.Tensor // [E] mean loss of each member
	correct torchpe.Tensor // float64 [E] correct answers; the zero Tensor if not counted
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
