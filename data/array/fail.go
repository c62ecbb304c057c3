package array

import "fmt"

// failure carries an error from where a file was found wrong to [Catch]. Nearly every field of a file
// can be wrong, so the functions of a reader of binary files do not hand errors to each other.
type failure struct{ err error }

// Fail ends the reading of a file if err is not nil. Only what [InFile] or [Try] calls may use it.
func Fail(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Failf is Fail with the error of [fmt.Errorf].
func Failf(format string, args ...any) { Fail(fmt.Errorf(format, args...)) }

// FailDamaged is Fail with the error of [Damaged].
func FailDamaged(format string, args ...any) { Fail(Damaged(format, args...)) }

// Got returns v, or ends the reading as [Fail] does.
func Got[T any](v T, err error) T {
	Fail(err)
	return v
}

// Catch stores the error of Fail. It is deferred.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.err
	default:
		panic(p)
	}
}

// Within puts a text before the error of Fail, with a colon between them. It is deferred.
func Within(format string, args ...any) {
	switch p := recover().(type) {
	case nil:
	case failure:
		Failf("%s: %w", fmt.Sprintf(format, args...), p.err)
	default:
		panic(p)
	}
}

// Try returns what read returns, or the error of Fail.
func Try[T any](read func() T) (v T, err error) {
	defer Catch(&err)
	return read(), nil
}
