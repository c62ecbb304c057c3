// Package paper makes the tables and figures of the paper, and some that it lacks, from finished runs, with the
// printed numbers of the paper.
//
// Read sorts the runs of a directory into the paper's experiments and measures their probes. The lists in
// items.go define the groups, panels, tables and words of each item, and Write makes all items. Package cohort
// decides what may be averaged, packages metrics and stats compute numbers, and figure, table and page draw and
// write them. It needs no libtorch. The same runs always give the same bytes.
package paper
