// Package train turns a Config into a finished run directory: Run is one linear loop over steps - batch, forward, backward,
// step, record - that can be killed at any moment and resumed to the same bits.
//
// What a step does is a function of the configuration, the step's number and the state in the checkpoint: the order of the
// data comes from (seed, epoch), random draws from (seed, step). There is no other hidden state.
//
// It may import torchpe, models, data and runlog.
package train
