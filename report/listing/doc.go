// Package listing makes one table of any directory of runs, finished or not, with one row per model: the
// settings that differ, its progress, and its numbers. Rows are selected by filters or averaged over seeds. The
// table is written for people, as CSV and JSON, or with curves on a page.
//
// It needs no libtorch: it reads run directories through packages cohort and runlog, and does not write to
// them.
package listing
