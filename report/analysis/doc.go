// Package analysis takes the metrics of package metrics of runs and of a user's own arrays: it
// finds the tables of positions, attention maps and weights in run directories and array files,
// holds their shapes against each other, and gives results that print as JSON.
//
// Invariants. All input is read and checked before anything is computed, and every error says which
// file, what was wanted and what was found. A number that has no value (0/0) is a [Number] that is
// null in JSON, never a NaN. Nothing is written but by [Save].
package analysis
