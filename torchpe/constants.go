package torchpe

import (
	"fmt"
	"hash/maphash"
	"unsafe"

	"torchpe/torchpe/internal/ctorch"
)

// Constants keeps the tensors that a repeated computation copies from the host: masks, tables, angles. The
// first pass creates them; each later pass takes them from here, in the same order. So a graph, which must
// not read from the host, can record a computation that builds its tables in every pass.
//
// It is an error if a constant differs from that of the first pass (it should have been an input in
// fixed memory), or if the computation reads one of its tensors.
type Constants struct {
	kept []constant
	next int
	seed maphash.Seed
}

type constant struct {
	handle ctorch.Handle
	digest uint64
}

// NewConstants returns an empty set. Call Close when done.
func NewConstants() *Constants { return &Constants{seed: maphash.MakeSeed()} }

// Close frees the constants. Closing twice does nothing.
func (c *Constants) Close() {
	var hs []ctorch.Handle
	for _, k := range c.kept {
		hs = append(hs, k.handle)
	}
	c.kept = nil
	release("Constants.Close", hs...)
}

// Repeat starts a pass of the repeated computation: the tensors that Of and To copy to a device in s, and in
// children created later, are the constants of c, from the first one on. nil ends the pass.
func (s *Scope) Repeat(c *Constants) {
	if s.constants = c; c != nil {
		c.next = 0
	}
}

// take returns the next constant; create creates it in the first pass.
func (c *Constants) take(s *Scope, op string, digest uint64, create func() (ctorch.Handle, error)) Tensor {
	i := c.next
	c.next++
	if i < len(c.kept) {
		if c.kept[i].digest != digest {
			fail(op, fmt.Sprintf("constant number %d of a repeated computation has changed: "+
				"what differs between steps must be an input of the step", i+1))
		}
		return Tensor{c.kept[i].handle, s}
	}
	h, err := create()
	if err != nil {
		fail(op, err.Error())
	}
	c.kept = append(c.kept, constant{h, digest})
	return Tensor{h, s}
}

// digest hashes an array with its shape and device.
func digest[T Element](c *Constants, data []T, shape []int, dev Device) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	var zero T
	_, _ = fmt.Fprint(&h, dtypeOf[T](), shape, dev) // writes to a hash cannot fail
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero))))
	return h.Sum64()
}
