package array

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

// standardInput returns all of standard input: most formats cannot be read in one pass, and some
// readers open a file twice.
var standardInput = sync.OnceValues(func() ([]byte, error) {
	all, err := io.ReadAll(io.LimitReader(os.Stdin, Limit()+1))
	if err == nil {
		err = NewBudget().Take(int64(len(all)), "standard input")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Stdin, err)
	}
	return all, nil
})

// File is an open file. A read within its size gives all bytes or an error.
type File struct {
	*io.SectionReader
	io.Closer
}

// Open opens a regular file, or standard input.
func Open(path string) (*File, error) {
	if path == Stdin {
		all, err := standardInput()
		if err != nil {
			return nil, err
		}
		return &File{io.NewSectionReader(bytes.NewReader(all), 0, int64(len(all))), io.NopCloser(nil)}, nil
	}
	// Checked before it is opened: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if err == nil {
		err = CheckRegular(path, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{io.NewSectionReader(fullReader{wrapFile(f)}, 0, info.Size()), f}, nil
}

// InFile opens the file at path, calls read, which may [Fail], and closes the file. Errors begin with
// what and name the file.
func InFile[T any](what, path string, read func(*File) (T, error)) (T, error) {
	var none T
	f, err := Open(path)
	if err != nil {
		return none, fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	v, err := func() (v T, err error) {
		defer Catch(&err)
		return read(f)
	}()
	if err != nil {
		return none, fmt.Errorf("%s: %s: %w", what, path, err)
	}
	return v, nil
}

// SHA256 returns the SHA-256 of the file at path, in hexadecimal.
func SHA256(path string) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CheckRegular returns an error unless the file is regular, because most formats cannot be read in one
// pass.
func CheckRegular(path string, info fs.FileInfo) error {
	err := atomicfile.CheckRegular(info)
	switch {
	case err == nil:
		return nil
	case info.IsDir():
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w: save what it holds to a file, and name that, or name - and pipe it in", path, err)
}

// wrapFile wraps files in tests.
var wrapFile = func(r io.ReaderAt) io.ReaderAt { return r }

// fullReader makes reads fail that do not give all bytes.
type fullReader struct{ r io.ReaderAt }

var errShorter = errors.New("the file ends: has it become shorter since it was opened?")

// IsReadError reports whether an error comes from reading a file, and not from what it holds.
func IsReadError(err error) bool {
	return errors.Is(err, errShorter) || errors.As(err, new(syscall.Errno))
}

// ReadAt fills b.
func (w fullReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := w.r.ReadAt(b, at)
	if n == len(b) {
		return n, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errShorter
	}
	var named *fs.PathError // callers name the file
	if errors.As(err, &named) {
		err = named.Err
	}
	return n, fmt.Errorf("reading %d bytes at byte %d: %w", len(b), at, err)
}

// textExpansion bounds the memory of the lines and cells of a text, which can be of one byte each.
const textExpansion = 40

// ReadText reads a text of at most the given number of bytes, within a budget that covers its lines
// and cells too.
func ReadText(path string, most int64) (string, error) {
	f, err := Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if f.Size() > most {
		return "", fmt.Errorf("%s: a file of %s, want a text of at most %s", path, Bytes(f.Size()),
			Bytes(most))
	}
	var text strings.Builder
	if err = NewBudget().Take(textExpansion*f.Size(), fmt.Sprintf("a text of %s", Bytes(f.Size()))); err == nil {
		text.Grow(int(f.Size()))
		_, err = io.CopyBuffer(&text, f, make([]byte, min(f.Size()+1, 32<<10))) // io.Copy's has 32 kB for any file
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	all := text.String()
	if at, problem := NotUTF8(all); problem != "" && strings.IndexByte(all, 0) < 0 { // or it is no text
		return "", fmt.Errorf("%s:%d:%d: %s", path, 1+strings.Count(all[:at], "\n"),
			at-strings.LastIndexByte(all[:at], '\n'), problem)
	}
	return all, nil
}

// NotUTF8 finds the first byte that is not UTF-8, and says what to do about it; the problem is
// empty where all is UTF-8.
func NotUTF8(text string) (at int, problem string) {
	if utf8.ValidString(text) {
		return 0, ""
	}
	for at = 0; ; {
		r, n := utf8.DecodeRuneInString(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at, fmt.Sprintf("byte %#x is not UTF-8 (%q in Latin-1): save the file as UTF-8, such as "+
		"with iconv -f WINDOWS-1252 -t UTF-8", text[at], rune(text[at]))
}

// FirstBytes returns the first n bytes of a file, or all of a shorter one.
func FirstBytes(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(n, f.Size()))
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// MaxInflate is the number of bytes to which a byte of deflate data can expand at most
// (zlib.net/zlib_tech.html).
const MaxInflate = 1032

// Quote quotes the beginning of a text from a file for an error, at most 60 characters of it.
func Quote[T string | []byte](s T) string {
	const most = 60
	text := string(s[:min(len(s), most*utf8.UTFMax+1)])
	runes := 0
	for i := range text {
		if runes == most {
			return fmt.Sprintf("%q...", text[:i])
		}
		runes++
	}
	return fmt.Sprintf("%q", text)
}

// Printable returns a name as one line without control characters, with escapes where it has any.
func Printable(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) < 0 {
		return name
	}
	quoted := strconv.Quote(name)
	return quoted[1 : len(quoted)-1]
}

// Join joins names for an error, at most 20 of them.
func Join(names []string) string {
	return wording.List(20, names)
}
