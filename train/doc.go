// Package train turns a Config into a finished run directory: Run is a loop over steps - batch,
// forward, backward, update, record - that can be killed at any moment and resumed to the same
// bits.
//
// A step is a function of the configuration, its number and the state in the checkpoint: the order
// of the data follows from (seed, epoch), random draws from (seed, step).
//
// It may import torchpe, models, data and runlog.
package train
