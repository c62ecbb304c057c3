// Package lst holds the Latin Square Task: its puzzles, the rules that decide them, the files they are published in,
// and a generator of new sets.
//
// A puzzle is a 4x4 grid in which no symbol 1-4 stands twice in a row or a column; some cells are blank and one, the
// probe, asks for its symbol. A puzzle is of the 1-, 2- or 3-vector condition (published labels Binary, Ternary and
// Quaternary) by how many rows and columns must be looked at together to force the answer (Birney, Halford and Andrews,
// Educ. Psychol. Meas. 66, 2006). The rules, the layout of files and the sizes of the sets are those
// of the puzzles published with github.com/ljhearne/LSTNN_public.
//
// The package imports only the standard library. Invariants: a [Puzzle] that [Read] or [Generate] returned has a valid
// grid with one probe; what is random is a pure function of a seed that the caller gives; nothing here keeps mutable state.
package lst
