package models

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/torchpe"
)

// Trace asks a forward pass for intermediates by name and holds them afterwards. The names are
//
//	embedding      [E,B,N,D]    tokens before any PE, with Input.Noise
//	pe/<layer>     [E,N,D]      the table added to the layer's input; [E,B,N,D] if drawn
//	attention/<layer> [E,B,H,N,N]
//	hidden/<layer> [E,B,N,D]    the layer's output
//	logits         [E,B,C]
//
// The tensors belong to the scope of the forward pass.
type Trace struct {
	want []string
	got  map[string]torchpe.Tensor
}

// NewTrace asks for the named intermediates; a name that ends in "/*" asks for all layers.
func NewTrace(names ...string) *Trace {
	return &Trace{want: names, got: map[string]torchpe.Tensor{}}
}

// Get returns an intermediate; ok is false if the model has none with this name.
func (t *Trace) Get(name string) (x torchpe.Tensor, ok bool) {
	x, ok = t.got[name]
	return x, ok
}

// Names lists the intermediates that were found, sorted.
func (t *Trace) Names() []string {
	var names []string
	for name := range t.got {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (t *Trace) wants(name string) bool {
	if t == nil {
		return false
	}
	kind, _, _ := strings.Cut(name, "/")
	return slices.Contains(t.want, name) || slices.Contains(t.want, kind+"/*")
}

func (t *Trace) keep(name string, x torchpe.Tensor) {
	if t.wants(name) {
		t.got[name] = x
	}
}

func hiddenName(layer int) string    { return fmt.Sprintf("hidden/%d", layer) }
func attentionName(layer int) string { return fmt.Sprintf("attention/%d", layer) }
func peName(layer int) string        { return fmt.Sprintf("pe/%d", layer) }
