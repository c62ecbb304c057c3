// Package masked implements masked prediction except for the model: tables of samples and tokens, masks,
// the order of samples, splits into training and test data, and baselines.
//
// One sample is one row of a [Table]: the values of all tokens (nodes, regions, sensors) at one
// time point. A model sees the visible tokens and predicts the masked ones; its loss is the mean
// squared error over masked tokens.
//
// Invariants: masks are a pure function of (seed, stream, level, step), and the order of samples is one of
// (seed, step). A resumed run therefore repeats the draws of an uninterrupted run, and a member of an
// ensemble those of a run by itself. A mask hides at least one token of a sample and not all. Results
// do not depend on the number of goroutines. Only a [Sampler], which caches one epoch, has mutable
// state.
package masked
