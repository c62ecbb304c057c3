package expect

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Must returns the value of a call, and panics if it returned an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// NoError ends the test if err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Error fails unless err contains all of these texts.
func Error(t testing.TB, err error, says ...string) {
	t.Helper()
	for _, text := range says {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one with %q", err, text)
		}
	}
}

// Message fails unless err has exactly this text.
func Message(t testing.TB, err error, want string) {
	t.Helper()
	if got := fmt.Sprint(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Refused fails unless a call returned an error.
func Refused(t testing.TB, what any, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%v: no error", what)
	}
}

// Contains fails unless a text contains all of these.
func Contains(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Equal fails unless two values are deeply equal.
func Equal[T any](t testing.TB, what any, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %v, want %v", what, got, want)
	}
}

// ErrorOf returns the error of a call.
func ErrorOf[T any](_ T, err error) error { return err }

// Written returns what a function writes; it panics if the function returns an error.
func Written(write func(io.Writer) error) string {
	var b strings.Builder
	if err := write(&b); err != nil {
		panic(err)
	}
	return b.String()
}

// File writes a file to a temporary folder of the test, and returns its path.
func File(t testing.TB, name, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	NoError(t, os.WriteFile(path, []byte(body), 0o666))
	return path
}
