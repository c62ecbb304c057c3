package torchpe

import (
	"strconv"
	"strings"
	"time"

	"torchpe/torchpe/internal/ctorch"
)

// ProfileParts names the parts that StopProfile tells apart.
var ProfileParts = []string{"products", "bias and GELU", "attention", "layer norm", "optimizer"}

// StartProfile starts measuring the time of the fused CPU operators.
func StartProfile() { ctorch.Profile(true) }

// StopProfile stops measuring and returns the time of each of ProfileParts.
func StopProfile() []time.Duration {
	times := make([]time.Duration, len(ProfileParts))
	for i := range times {
		times[i] = time.Duration(ctorch.ProfileNS(i))
	}
	ctorch.Profile(false)
	return times
}

// Operators runs f and returns how often each of libtorch's operators was called meanwhile, by this
// program or by other operators; names are libtorch's, as "aten::bmm". Calls of other goroutines
// count too.
func Operators(f func()) map[string]int {
	ctorch.CountOperators(true)
	defer ctorch.CountOperators(false)
	f()
	calls := map[string]int{}
	for line := range strings.Lines(ctorch.Operators()) {
		line = strings.TrimSpace(line)
		end := strings.LastIndexByte(line, ' ') // names of backward passes have spaces
		n, err := strconv.Atoi(line[end+1:])
		if err != nil {
			panic(&Error{Op: "Operators", Msg: err.Error()})
		}
		calls[line[:end]] = n
	}
	return calls
}
