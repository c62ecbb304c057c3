// Package metrics measures what a model learned, on plain arrays. Each measure states its formula
// and its source. It may import the standard library and gonum, and needs no libtorch; the training
// program uses it, too.
package metrics
