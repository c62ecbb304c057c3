// Package sized holds Latin-square puzzles of any side from 3 to 8: what package lst has for 4 x 4, as far as a model needs it that is
// evaluated at more or fewer tokens than it was trained on. Rules and labels are lst's, put in words that do not name the 4; at side 4
// both packages agree on every puzzle.
//
// The package imports data/lst and the standard library. Invariants: a [Puzzle] that [Generate], [Puzzles] or [Read] returned has a valid
// grid with one probe; what is random is a pure function of a seed that the caller gives; nothing here keeps mutable state.
package sized
