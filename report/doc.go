// Package report turns the numbers of finished runs into the tables and figures of a paper.
//
// Tables are functions of this package: each takes plain rows and returns a table of report/table, which writes text for a
// terminal, CSV for a machine and more. Figures are in report/figure. Neither reads run directories here or touches libtorch: a table can be made again years later from its
// rows. Bad input is an error, never a panic, and what is missing is shown as missing.
package report
