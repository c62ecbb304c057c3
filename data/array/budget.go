package array

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"torchpe/internal/machine"
)

// Budget bounds the bytes that reading one file allocates, including decompressed bytes. Readers
// ask before they allocate what a file claims.
type Budget struct{ limit, taken int64 }

// NewBudget returns the budget of one file.
func NewBudget() *Budget { return &Budget{limit: Limit()} }

// TooLargeError says that a file needs more memory than readers may allocate.
type TooLargeError struct {
	What        string // content of the file
	Need, Limit int64  // bytes, including those taken before
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: reading needs %s of memory, but may use %s: raise the limit with "+
		"--max-memory, if the machine has as much", e.What, Bytes(e.Need), Bytes(e.Limit))
}

// refuseAll makes requests fail in tests.
var refuseAll = func() bool { return false }

// Fits returns a [TooLargeError] if n more bytes exceed the budget.
func (b *Budget) Fits(n int64, what string) error {
	if n < 0 || n > b.limit-b.taken || refuseAll() {
		need := int64(math.MaxInt64)
		if n >= 0 && n <= need-b.taken {
			need = b.taken + n
		}
		return &TooLargeError{what, need, b.limit}
	}
	return nil
}

// Take counts n more bytes, or returns the error of [Budget.Fits].
func (b *Budget) Take(n int64, what string) error {
	if err := b.Fits(n, what); err != nil {
		return err
	}
	b.taken += n
	return nil
}

// Give returns n bytes that are no longer used.
func (b *Budget) Give(n int64) { b.taken -= n }

// Make is make([]T, n) within a budget.
func Make[T any](b *Budget, n int, what string) ([]T, error) {
	size := int64(unsafe.Sizeof(*new(T)))
	bytes := int64(math.MaxInt64)
	if int64(n) <= bytes/size {
		bytes = int64(n) * size
	}
	if err := b.Take(bytes, what); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// Bytes formats a number of bytes in a suitable unit, such as 1.5 GB.
func Bytes(n int64) string {
	value, unit := float64(n), "bytes"
	for _, larger := range []string{"kB", "MB", "GB", "TB", "PB", "EB"} {
		if value < 1000 {
			break
		}
		value, unit = value/1000, larger
	}
	if unit == "bytes" {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.3g %s", value, unit)
}

// ParseBytes reads a size such as 8G, 500M or 1.5 GB, in powers of 1000, or a number of bytes.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimRight(strings.ToUpper(text), "B ")
	factor := 1.0
	if number != "" {
		if i := strings.IndexByte("KMGT", number[len(number)-1]); i >= 0 {
			factor, number = math.Pow10(3*(i+1)), strings.TrimSpace(number[:len(number)-1])
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v*factor >= 1e6) || v*factor > 1e18 {
		return 0, fmt.Errorf("%q is not a size of at least 1 MB, such as 500M, 8G or 1.5T", text)
	}
	return int64(v * factor), nil
}

// limit is the size of budgets; 0 before it is first needed.
var limit atomic.Int64

// SetLimit sets the size of later budgets.
func SetLimit(bytes int64) { limit.Store(bytes) }

// Limit returns the size of a budget: that of SetLimit, or else half of the memory that was
// available when it was first needed, because an array may be copied once while it is used; 4 GB if that is unknown.
func Limit() int64 {
	if limit.Load() == 0 {
		_, free := machine.Memory("/")
		if free < 0 {
			free = 8e9
		}
		limit.CompareAndSwap(0, max(64<<20, free/2))
	}
	return limit.Load()
}
