// Package train turns a Config into a finished run directory. Run is a loop over steps (batch, forward,
// backward, update, record) that can be killed at any moment and resumed with identical bits.
//
// A step is a function of the configuration, its number and the state in the checkpoint: the order
// of the data depends only on (seed, epoch), random draws on (seed, step).
package train
