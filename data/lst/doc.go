// Package lst implements the Latin Square Task: its puzzles, the rules that decide them, their files,
// and a generator of new sets.
//
// A puzzle is a grid of side x side cells that repeats no symbol in a row or a column. Some cells are
// blank. One cell is the probe, whose symbol is the answer. The published puzzles have side 4
// ([Side]); generated ones have side 3 to 8. The condition of a puzzle is 1-, 2- or 3-vector
// (published labels Binary, Ternary and Quaternary): the number of rows and columns that together
// force the answer (Birney, Halford and Andrews, Educ. Psychol. Meas. 66, 2006). The rules, the file
// layout and the sizes of the sets are those of github.com/ljhearne/LSTNN_public. [Lines] has a
// rule that is missing there.
//
// Invariants: a [Puzzle] returned by [ReadFile] or [Generate] has a valid grid with one probe. Random
// results are a pure function of the caller's seed. The package keeps no mutable state.
package lst
