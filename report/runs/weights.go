package runs

import (
	"fmt"
	"slices"

	"torchpe/data/array/safetensors"
	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// Weights are the parameters at the end of training.
type Weights struct {
	file    *safetensors.File
	members int
	dir     string
}

// Weights reads the newest checkpoint. The error matches runlog.ErrNoCheckpoint where none was
// kept.
func (r *Run) Weights() (*Weights, error) {
	reader, err := runlog.Open(r.Dir)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	c, err := reader.LoadCheckpoint()
	if err != nil {
		return nil, err
	}
	return &Weights{file: c.File, members: len(r.Config.Members), dir: r.Dir}, nil
}

// Parameter returns a member's part of the parameter of that name, such as block0.attn.in.weight,
// with its shape; ok is false where there is none.
func (w *Weights) Parameter(name string, member int) (values []float64, shape []int, ok bool, err error) {
	x, ok := w.file.Tensor("w/" + name)
	if !ok {
		return nil, nil, false, nil
	}
	if len(x.Shape) < 1 || x.Shape[0] != w.members || member < 0 || member >= w.members {
		return nil, nil, false, fmt.Errorf(
			"%s: checkpoint: %s has shape %v, and the run %s", w.dir, x.Name, x.Shape,
			wording.Count(w.members, "member"))
	}
	size := len(x.Data) / w.members
	own := safetensors.Tensor{Name: x.Name, DType: x.DType, Shape: slices.Clone(x.Shape[1:]),
		Data: x.Data[member*size : (member+1)*size]}
	values, err = own.Float64s()
	return values, own.Shape, true, err
}
