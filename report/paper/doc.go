// Package paper makes the tables and figures of the paper, and some that it lacks, from finished
// runs, beside the numbers that the paper prints.
//
// Read sorts what runs a directory has into the paper's experiments and measures what their probes
// hold; Items lists what can be made of them, each in a function of its own; Write makes all of it.
// Numbers come from packages runs, metrics and stats, drawings from figure, texts from table and
// page: this package says which runs go where, and in which order. It needs no libtorch. The same
// runs give the same bytes.
package paper
