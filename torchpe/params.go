package torchpe

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"torchpe/torchpe/internal/ctorch"
)

// Param is a named array [E,...] that outlives scopes: a weight, or a fixed table that was drawn once.
type Param struct {
	Name      string
	Shape     []int // with the leading axis E
	Trainable bool
	h         ctorch.Handle
	offset    int
	init      Init
}

// In returns the parameter as a tensor of s, without a call or a copy.
func (p *Param) In(s *Scope) Tensor { return Tensor{p.h, s} }

// OrNone is In, or the zero Tensor if p is nil.
func (p *Param) OrNone(s *Scope) Tensor {
	if p == nil {
		return Tensor{}
	}
	return p.In(s)
}

// PerMember returns the number of elements of one member.
func (p *Param) PerMember() int { return product(p.Shape[1:]) }

// Init fills the initial values of one member (row-major) from a separate random stream.
type Init func(member int, rng *rand.Rand, out []float64)

// ParamSet holds all parameters of a model. Trained ones lie in one buffer [E,P] and their
// gradients in another of the same layout, so that the optimizer needs one call; the others lie in
// a third. Each parameter of each member starts at a multiple of 32 numbers, which suits a GPU; the
// gaps are 0 and stay 0.
type ParamSet struct {
	Members int
	DType   DType
	Device  Device
	params  []*Param
	byName  map[string]*Param
	columns [2]int // of the buffers of fixed and of trained parameters
	trained int    // elements per member
	frozen  ctorch.Handle
	flat    ctorch.Handle
	grads   ctorch.Handle
	leaves  []ctorch.Handle // the trained parameters
	built   bool
	rename  func(string) string // nil for none
}

// NewParamSet returns an empty set for an ensemble of the given number of members.
func NewParamSet(members int, dtype DType, dev Device) *ParamSet {
	return &ParamSet{Members: members, DType: dtype, Device: dev, byName: map[string]*Param{}}
}

// alignment divides the column of a buffer at which each parameter starts.
const alignment = 32

// Add declares a parameter; shape is without the axis E. It exists once Build is called.
func (ps *ParamSet) Add(name string, trainable bool, init Init, shape ...int) *Param {
	if ps.rename != nil {
		name = ps.rename(name)
	}
	if ps.built {
		panic(&Error{Op: "ParamSet.Add", Msg: fmt.Sprintf("%q after Build", name)})
	}
	if ps.byName[name] != nil {
		panic(&Error{Op: "ParamSet.Add", Msg: fmt.Sprintf("%q twice", name)})
	}
	p := &Param{Name: name, Shape: append([]int{ps.Members}, shape...), Trainable: trainable, init: init}
	kind := oneIf(trainable)
	p.offset = ps.columns[kind]
	ps.columns[kind] += (p.PerMember() + alignment - 1) / alignment * alignment
	if trainable {
		ps.trained += p.PerMember()
	}
	ps.params = append(ps.params, p)
	ps.byName[name] = p
	return p
}

// Renamed runs declare; a parameter that it adds as name is called rename(name). Calls nest: the
// innermost renames first.
func (ps *ParamSet) Renamed(rename func(string) string, declare func()) {
	outer := ps.rename
	defer func() { ps.rename = outer }()
	ps.rename = func(name string) string {
		if name = rename(name); outer != nil {
			return outer(name)
		}
		return name
	}
	declare()
}

// Build allocates the buffers and fills them. Parameter p of member e is drawn from
// Stream(seeds[e], p.Name), so that models that differ in one part have equal weights elsewhere.
func (ps *ParamSet) Build(seeds []uint64) error { return ps.build(nil, seeds) }

// build builds the set, with its trained parameters as views of base's unless base is nil.
func (ps *ParamSet) build(base *ParamSet, seeds []uint64) (err error) {
	if len(seeds) != ps.Members {
		return fmt.Errorf("%d seeds for %d members", len(seeds), ps.Members)
	}
	if ps.built {
		return errors.New("the parameters are built already")
	}
	ps.built = true
	defer func() {
		if err != nil {
			ps.Close()
		}
	}()
	buffers := []*ctorch.Handle{&ps.frozen, &ps.flat, &ps.grads}
	if base != nil {
		buffers = buffers[:1]
	}
	for i, into := range buffers {
		n := ps.columns[min(i, 1)]
		if *into, err = ctorch.Full([]int{ps.Members, n}, 0, int(ps.DType), int(ps.Device)); err != nil {
			return fmt.Errorf("allocating %d parameters for %d members: %w", n, ps.Members, err)
		}
	}
	for _, p := range ps.params {
		if base != nil && p.Trainable {
			err = p.lieOver(base)
		} else {
			err = ps.place(p, seeds)
		}
		if err != nil {
			return fmt.Errorf("parameter %s %v: %w", p.Name, p.Shape, err)
		}
	}
	return nil
}

// place makes p a view of its buffer and draws its initial values.
func (ps *ParamSet) place(p *Param, seeds []uint64) (err error) {
	buffer, grads := ps.frozen, ctorch.Handle(0)
	if p.Trainable {
		buffer, grads = ps.flat, ps.grads
	}
	if p.h, err = leaf(buffer, grads, p); err != nil {
		return err
	}
	n := p.PerMember()
	values := make([]float64, ps.Members*n)
	for e, seed := range seeds {
		p.init(e, Stream(seed, p.Name), values[e*n:(e+1)*n])
	}
	if p.Trainable {
		ps.leaves = append(ps.leaves, p.h)
	}
	p.init = nil
	return ps.Set(p.Name, values)
}

// leaf returns p as a view of its columns of a buffer [E,P], with its gradient in the same columns
// of grads. If grads is 0 it has no gradient.
func leaf(buffer, grads ctorch.Handle, p *Param) (ctorch.Handle, error) {
	return ctorch.Result("Leaf", ctorch.Operands{Tensors: []ctorch.Handle{buffer, grads},
		Ints: append([]int{p.offset}, p.Shape...)})
}

// All returns the parameters in the order of their declaration.
func (ps *ParamSet) All() []*Param { return ps.params }

// Get returns the parameter called name, or nil.
func (ps *ParamSet) Get(name string) *Param { return ps.byName[name] }

// Count returns the number of trained parameters of one member.
func (ps *ParamSet) Count() int { return ps.trained }

// Columns returns P, the width of the buffers of trained parameters and their gradients.
func (ps *ParamSet) Columns() int { return ps.columns[1] }

// Set replaces a parameter's values [E,...], given in row-major order.
func (ps *ParamSet) Set(name string, values []float64) error {
	p := ps.byName[name]
	if p == nil {
		return fmt.Errorf("no parameter %q", name)
	}
	if len(values) != product(p.Shape) {
		return fmt.Errorf("parameter %s: %d values for shape %v", name, len(values), p.Shape)
	}
	return Catch(func() {
		s := NewScopeNoGrad()
		defer s.Close()
		p.In(s).CopyFrom(Of(s, CPU, values, p.Shape...).To(ps.DType, ps.Device))
	})
}

// Values returns a copy of a parameter's values [E,...] in row-major order.
func (ps *ParamSet) Values(name string) (values []float64, err error) {
	p := ps.byName[name]
	if p == nil {
		return nil, fmt.Errorf("no parameter %q", name)
	}
	s := NewScopeNoGrad()
	defer s.Close()
	err = Catch(func() { values = p.In(s).Float64s() })
	return values, err
}

// Flat returns the buffer [E,P] of all trained parameters, which shares their memory.
func (ps *ParamSet) Flat(s *Scope) Tensor { return Tensor{ps.flat, s} }

// Grads returns the buffer [E,P] of all gradients, which shares their memory.
func (ps *ParamSet) Grads(s *Scope) Tensor {
	ps.settle()
	return Tensor{ps.grads, s}
}

// settle fills gradients with zeros that have counted as zero since Optimizer.ZeroGrad.
func (ps *ParamSet) settle() {
	if err := ctorch.Act("SettleGradients", ctorch.Operands{Tensors: ps.leaves}); err != nil {
		fail("ParamSet.Grads", err.Error())
	}
}

// Close frees the parameters. Closing twice does nothing.
func (ps *ParamSet) Close() {
	if len(ps.leaves) > 0 { // their memory may soon be reused; an error means that the device is lost
		_ = ctorch.Act("SettleGradients", ctorch.Operands{Tensors: ps.leaves})
		ps.leaves = nil
	}
	var hs []ctorch.Handle
	for _, h := range []*ctorch.Handle{&ps.frozen, &ps.flat, &ps.grads} {
		if *h != 0 {
			hs = append(hs, *h)
			*h = 0
		}
	}
	for _, p := range ps.params {
		if p.h != 0 {
			hs = append(hs, p.h)
			p.h = 0
		}
	}
	release("ParamSet.Close", hs...)
}

// Offset returns the parameter's first column in its buffer [E,P].
func (p *Param) Offset() int { return p.offset }
