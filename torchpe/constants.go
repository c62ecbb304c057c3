package torchpe

import (
	"fmt"
	"hash/maphash"
	"unsafe"

	"torchpe/torchpe/internal/ctorch"
)

// Constants are what a computation that is repeated brings from the host each time: masks, tables, angles. The first time
// they are made and kept; each later time they are taken from here, in the same order. This is how a computation that makes
// its tables anew in every pass can be recorded as a graph, which may read nothing from the host.
//
// A constant that is not what it was the first time is an error: it should have been an input at a fixed place. So is reading a tensor of
// the computation.
type Constants struct {
	kept []constant
	next int
	seed maphash.Seed
}

type constant struct {
	handle ctorch.Handle
	digest uint64
}

// NewConstants returns an empty set. Close it.
func NewConstants() *Constants { return &Constants{seed: maphash.MakeSeed()} }

// Restart says that the computation begins again.
func (c *Constants) Restart() { c.next = 0 }

// Close frees what was kept. Closing twice does nothing.
func (c *Constants) Close() {
	var hs []ctorch.Handle
	for _, k := range c.kept {
		hs = append(hs, k.handle)
	}
	c.kept = nil
	if err := ctorch.Release(hs); err != nil {
		panic(&Error{Op: "Constants.Close", Msg: err.Error()})
	}
}

// Repeat makes what Of and To bring to a device in s, and in children to come, constants of c; nil ends that.
func (s *Scope) Repeat(c *Constants) { s.constants = c }

// take returns the next constant, which make makes where it is new.
func (c *Constants) take(s *Scope, op string, digest uint64, make func() (ctorch.Handle, error)) Tensor {
	i := c.next
	c.next++
	if i < len(c.kept) {
		if c.kept[i].digest != digest {
			fail(op, fmt.Sprintf("constant number %d of a repeated computation is not what it was: what differs between steps must be an input of the step", i+1))
		}
		return Tensor{c.kept[i].handle, s}
	}
	h, err := make()
	if err != nil {
		fail(op, err.Error())
	}
	c.kept = append(c.kept, constant{h, digest})
	return Tensor{h, s}
}

// digest is a hash of an array with its shape and place.
func digest[T Element](c *Constants, data []T, shape []int, dev Device) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	var zero T
	fmt.Fprint(&h, dtypeOf[T](), shape, dev)
	h.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero))))
	return h.Sum64()
}
