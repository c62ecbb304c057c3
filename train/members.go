package train

import (
	"slices"
	"time"

	"torchpe/torchpe"
)

// MembersTried holds a measurement of BestMembers.
type MembersTried struct {
	Members int
	StepMS  float64
	Err     error // out of memory; nil otherwise
}

// Limits of BestMembers.
const (
	worthMembers = 1.1 // least gain in member steps a second for which it doubles the members
	mostMembers  = 256
)

// BestMembers finds the number of members with which a device trains the most member steps a second. It
// starts with one and doubles them while that is faster and memory suffices. It uses only the first member
// of c.
func BestMembers(c Config) (best int, tried []MembersTried, err error) {
	c.Members = c.Members[:1]
	fastest := 0.0 // ms a member
	for n := 1; n <= mostMembers; n *= 2 {
		took, err := timeMembers(c, n)
		if err != nil && outOfMemory(err) && n > 1 {
			return best, append(tried, MembersTried{Members: n, Err: err}), nil
		}
		if err != nil {
			return 0, tried, err
		}
		tried = append(tried, MembersTried{Members: n, StepMS: ms(took)})
		each := ms(took) / float64(n)
		if n > 1 && each*worthMembers > fastest {
			break
		}
		best, fastest = n, each
	}
	return best, tried, nil
}

// WithMembers returns the configuration with n members like its first, whose seeds count up.
func (c Config) WithMembers(n int) Config {
	first := c.Members[0]
	c.Members = slices.Repeat(c.Members[:1], n)
	for i := range c.Members {
		c.Members[i].Seed = first.Seed + uint64(i)
	}
	return c
}

// timeMembers returns the median time of a step of n members.
func timeMembers(c Config, n int) (time.Duration, error) {
	b, err := BenchStep(c.WithMembers(n), BenchOptions{Warmup: eagerRuns + 2, Steps: 7})
	if device, parseErr := torchpe.ParseDevice(c.Device); parseErr == nil {
		_ = torchpe.ReleaseCached(device) // what does not fit is found out by the next
	}
	return time.Duration(b.Median * float64(time.Millisecond)), err
}
