// Package listing makes one table of any directory of runs, a row a model, finished or not: which
// settings differ, how far each is, and its numbers. Rows are chosen by filters or averaged over
// seeds. The table is written for people, as CSV and JSON, or with curves on a page.
//
// It needs no libtorch: it reads run directories through packages cohort and runlog, and writes
// nothing into them.
package listing
