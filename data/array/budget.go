package array

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
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
// available when it was first needed, because an array may be copied once while it is used.
func Limit() int64 {
	if limit.Load() == 0 {
		limit.CompareAndSwap(0, max(64<<20, freeMemory("/")/2))
	}
	return limit.Load()
}

// freeMemory returns the bytes available to the process: those of the machine, within the limits of
// its control groups and of RLIMIT_AS; 8 GB if unknown. System files are read below root.
func freeMemory(root string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(content(root, "proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemAvailable:" {
			least = min(least, 1024*number64(fields[1]))
		}
	}
	for line := range strings.Lines(content(root, "proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, most, used := "sys/fs/cgroup", "memory.max", "memory.current"
		if parts[1] == "memory" { // version 1
			base, most, used = base+"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		}
		for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
			limit := number64(content(root, filepath.Join(base, group, most)))
			used := content(root, filepath.Join(base, group, used))
			if limit < math.MaxInt64 && used != "" {
				least = min(least, max(0, limit-number64(used)))
			}
			if group == "/" {
				break
			}
		}
	}
	var space syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &space) == nil && space.Cur < math.MaxInt64 {
		least = min(least, int64(space.Cur))
	}
	if least == math.MaxInt64 {
		return 8e9
	}
	return least
}

// content returns a system file, or "" if it cannot be read.
func content(root, path string) string {
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return ""
	}
	return string(b)
}

// number64 returns a number in a system file, or MaxInt64 for other text, such as "max".
func number64(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
