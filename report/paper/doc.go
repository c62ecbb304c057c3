// Package paper makes the tables and figures of the paper, and some that it lacks, from finished
// runs, beside the numbers that the paper prints.
//
// Read sorts what runs a directory has into the paper's experiments and measures what their probes
// hold. The lists in items.go say which groups, panels, tables and words each item has, and Write makes
// all of them. Package cohort decides what may be averaged, packages metrics and stats give numbers, and
// figure, table and page draw and write them. It needs no libtorch. The same runs give the same bytes.
package paper
