// Package listing makes one table of any directory of runs, a row a model, finished or not: which settings differ, how far each is,
// and its numbers. Rows are chosen by filters, and the table is written for people, or as CSV, JSON and Parquet.
//
// It needs no libtorch: it reads run directories through packages runs and runlog, and writes nothing into them. Only Parquet needs a
// package from elsewhere.
package listing
