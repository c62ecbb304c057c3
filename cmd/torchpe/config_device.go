package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"torchpe/torchpe"
	"torchpe/train"
)

// stallAfter is how long a GPU may be silent: a record of a large model takes seconds.
const stallAfter = 10 * time.Minute

// addDeviceFlags declares the flags that say how a device computes.
func addDeviceFlags(fl *pflag.FlagSet, d *train.DeviceConfig) {
	fl.StringVar(&d.Precision, "precision", "auto", "operands of products: "+strings.Join(torchpe.Precisions(), ", ")+"; auto is tf32 on a GPU and fp32 on a CPU")
	fl.BoolVar(&d.NoGraph, "no-graph", false, "launch each kernel by itself instead of replaying recorded steps [GPU]")
	fl.BoolVar(&d.Deterministic, "deterministic", false, "the same bits each time, at some cost in speed [GPU; a CPU always gives them]")
}

// memberCount is the value of --members: a number, or the word auto.
type memberCount struct {
	n    int
	auto bool
}

// Set reads a number or the word auto, which stands for one until it is measured.
func (m *memberCount) Set(text string) error {
	if text == "auto" {
		*m = memberCount{n: 1, auto: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor the word auto", text)
	}
	*m = memberCount{n: n}
	return nil
}

// String writes what Set reads.
func (m *memberCount) String() string {
	if m.auto {
		return "auto"
	}
	return strconv.Itoa(m.n)
}

// Type is what --help calls the value.
func (m *memberCount) Type() string { return "int|auto" }

// refuseAutoMembers refuses --members auto where nothing measures it.
func (f *configFlags) refuseAutoMembers(instead string) error {
	if f.members.auto {
		return usagef("--members auto: a number here; %s", instead)
	}
	return nil
}

// chooseMembers measures how many members are worth while where --members auto asks for it, says so, and makes them.
func (f *configFlags) chooseMembers(c *train.Config, say io.Writer) error {
	if !f.members.auto {
		return nil
	}
	if f.flags.Changed("seeds") {
		return usagef("--members auto and --seeds both say how many members there are: give one of them")
	}
	n, tried, err := train.BestMembers(*c)
	for _, m := range tried {
		if m.Err != nil {
			fmt.Fprintf(say, "torchpe: %d members: %v\n", m.Members, m.Err)
			continue
		}
		fmt.Fprintf(say, "torchpe: %d members: %.2f ms a step, %.2f ms a member\n", m.Members, m.StepMS, m.StepMS/float64(m.Members))
	}
	if err != nil {
		return err
	}
	first := c.Members[0]
	c.Members = nil
	for i := range n {
		m := first
		m.Seed = first.Seed + uint64(i)
		c.Members = append(c.Members, m)
	}
	fmt.Fprintf(say, "torchpe: --members auto chose %d\n", n)
	return nil
}
