// Package lst holds the Latin Square Task: its puzzles, the rules that decide them, their files,
// and a generator of new sets.
//
// A puzzle is a grid of side x side cells in which no symbol stands twice in a row or a column;
// some cells are blank and one, the probe, asks for its symbol. The published puzzles have side 4
// ([Side]); generated ones have side 3 to 8. A puzzle is of the 1-, 2- or 3-vector condition
// (published labels Binary, Ternary and Quaternary) by how many rows and columns must be looked at
// together to force the answer (Birney, Halford and Andrews, Educ. Psychol. Meas. 66, 2006). The
// rules, the layout of files and the sizes of the sets are those of the puzzles published with
// github.com/ljhearne/LSTNN_public; [Lines] has the one rule that is missing there.
//
// Invariants: a [Puzzle] that [ReadFile] or [Generate] returned has a valid grid with one probe; what
// is random is a pure function of a seed that the caller gives; nothing here keeps mutable state.
package lst
