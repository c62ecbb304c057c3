// Package torchpe wraps libtorch in a few Go types: Tensor, Scope, Param, ParamSet, Optimizer,
// Device, DType and Error.
//
// Memory: a Scope owns the tensors created in it and frees them in one call when it closes; there
// are no finalizers. A result belongs to the innermost scope among its operands. A Param outlives
// scopes and enters one with In.
//
// Errors: an operator that fails (wrong shapes, dtypes, a closed scope) panics with *Error, which
// Catch turns into an error around a step. Functions that read files, configuration or devices
// return errors.
//
// Grad mode belongs to the scope: results in a scope created with NoGrad record nothing for Backward.
//
// A Scope and its tensors belong to one goroutine at a time; different scopes may be used at once.
//
// Shapes are written [E,B,H,N,Dh]: E members of the ensemble, B batch, H heads, N tokens, Dh width
// of a head, D width of the model. The package may import internal/ctorch and the standard library
// only.
package torchpe
