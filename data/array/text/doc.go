// Package text reads and writes rectangular tables of numbers in text files: comma-separated (CSV),
// tab-separated (TSV), with semicolons, or with runs of spaces and tabs as FSL, HCP's tools,
// numpy.savetxt and AFNI (.1D) write them.
//
// A file is lines of cells. Blank lines and lines that begin with # or % (but not with an error of Excel, such as #N/A) are left out, as are a
// byte order mark, blanks around a cell and the difference between LF, CRLF and CR. A cell may
// stand in double quotes, where "" is a quote, but not go over the end of its line. A cell is a
// decimal number, an infinity, or missing and then NaN: empty, nan, n/a or NA. A first line of
// names and a first column of names are found without being told, see [Options] for how and for
// what to do where they are not. The last comment above the table holds the names of columns where
// it has one for each, as numpy.savetxt writes them. A later one with the cells of a named row is an
// error: it may be a row.
//
// Files whose name ends in .1D are AFNI's (afni.nimh.nih.gov): they have no names, and // begins a
// comment line too.
//
// Invariants. A [Table] that was read is a matrix with at least one row and one column. Nothing is
// guessed about numbers: a row with a cell too few or too many, a cell that is no number, a number
// beyond float64 and an integer beyond 2^53 are errors that give file, line, column (in bytes,
// from 1) and the text. So are digits behind a 0 after a comma that may stand within a number (1,05),
// a column without a name, a header that would make names of numbers, names that are not UTF-8, names of rows, and lines of nothing but
// names of columns, that look like numbers, as 7% and 0x10 do, unless they are said to be names. A
// number takes 8 bytes and a name 16 besides its text, so that a table takes a small multiple of
// its file.
package text
