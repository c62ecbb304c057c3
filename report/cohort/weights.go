package cohort

import (
	"fmt"
	"slices"

	"torchpe/data/array/safetensors"
	"torchpe/train/runlog"
)

// Weights are the parameters at the end of training.
type Weights struct {
	Warning string // why they are not those of the end of training; "" where they are

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
	return &Weights{Warning: c.Warning, file: c.File, members: len(r.Config.Members), dir: r.Dir}, nil
}

// Parameter returns a member's part of the parameter of that name, such as block0.attn.in.weight,
// with its shape; ok is false where there is none.
func (w *Weights) Parameter(name string, member int) (values []float64, shape []int, ok bool, err error) {
	x, ok := w.file.Tensor(runlog.WeightPrefix + name)
	if !ok {
		return nil, nil, false, nil
	}
	if values, err = memberPart(x, member, w.members); err != nil {
		return nil, nil, false, fmt.Errorf("%s: checkpoint: %w", w.dir, err)
	}
	return values, slices.Clone(x.Shape[1:]), true, nil
}
