// Package text reads and writes rectangular tables of numbers in text files. Cells are separated by
// commas (CSV), tabs (TSV), semicolons, or runs of spaces and tabs, as FSL, HCP's tools,
// numpy.savetxt and AFNI (.1D) write them.
//
// A file is lines of cells. Read skips blank lines, lines that begin with # or % (except with an error
// of Excel, such as #N/A), a byte order mark and blanks around a cell. LF, CRLF and CR end a line. A
// cell may stand in double quotes, where "" is a quote, within one line. A cell is a decimal number,
// an infinity, or a missing number, which becomes NaN: empty, nan, n/a, NA, or another word ([IsAbsent]).
// Read finds a first line of names and a first column of names; [Options] says how, and overrides it.
// The last comment above the table holds the names of columns if it has one for each, as numpy.savetxt
// writes them. A later comment with the cells of a named row is an error, because it may be a row.
//
// Files whose name ends in .1D are AFNI's (afni.nimh.nih.gov): they have no names, and // begins a
// comment line too.
//
// Invariants. A [Table] that was read is a matrix with at least one row and one column. Read guesses
// nothing about numbers. These are errors with file, line, column (in bytes, from 1) and text:
//   - a row with too few or too many cells
//   - a cell that is no number, a number beyond float64, an integer beyond 2^53
//   - digits after a 0 behind a comma that may stand within a number (1,05)
//   - a column without a name, or a header that would turn numbers into names of rows
//   - a name that is not UTF-8
//   - names of rows, or a line of names of columns, that look like numbers (7%, 0x10), unless Options
//     says that they are names
//
// Names are brought into Unicode's form NFC: an e with an accent of its own is the letter é, as it looks.
//
// A number takes 8 bytes and a name 16 besides its text, so that a table takes a small multiple of
// its file.
package text
