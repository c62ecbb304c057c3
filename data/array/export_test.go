package array

import "io"

// Refuse makes the n-th request for memory from now on fail, and returns what undoes that.
func Refuse(n int) (undo func()) {
	before := refuseAll
	refuseAll = func() bool { n--; return n == 0 }
	return func() { refuseAll = before }
}

// Through makes files be read through f, and returns what undoes that.
func Through(f func(io.ReaderAt) io.ReaderAt) (undo func()) {
	before := wrapFile
	wrapFile = f
	return func() { wrapFile = before }
}
