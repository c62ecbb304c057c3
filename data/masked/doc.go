// Package masked holds what masked prediction needs besides the model: a table of samples and
// tokens, which tokens of a sample are masked, which samples a step takes, what is held out, and
// baselines that a model is judged by.
//
// One sample is one row of a [Table]: the values of all tokens (nodes, regions, sensors) at one
// time point. A model sees the visible tokens and predicts the masked ones; its loss is the mean
// squared error over masked tokens.
//
// Invariants: masks are a pure function of (seed, stream, level, step) and the order of samples of
// (seed, step), so that a run that resumes at a step draws what it would have drawn, and a member
// of an ensemble draws what it draws alone; a mask never hides none or all of a sample's tokens;
// results do not depend on the number of goroutines; nothing here keeps mutable state besides a
// [Sampler]'s memory of one epoch.
package masked
