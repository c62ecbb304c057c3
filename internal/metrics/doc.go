// Package metrics measures learned encodings and attention maps, given as plain arrays. Each measure
// states its formula and its source. It needs no libtorch.
package metrics
