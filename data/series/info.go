package series

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"torchpe/data/partition"
)

// Info describes a file.
type Info struct {
	File            string          `json:"file"`
	Format          Format          `json:"format"`
	Subjects        int             `json:"subjects"`
	Runs            int             `json:"runs"`
	Tokens          int             `json:"tokens"`
	Frames          int             `json:"frames"` // of all runs together
	Subject         string          `json:"subject"`
	Names           []string        `json:"names"`            // of the tokens; empty where the file has none
	HemisphereOrder partition.Order `json:"hemisphere_order"` // by the names, or in CIFTI by the structures
	SHA256          string          `json:"sha256"`
	FirstRow        []float64       `json:"first_row"` // the first five numbers of the first row, as nibabel, h5py, scipy or numpy show the array
	Datasets        []string        `json:"datasets,omitempty"`
}

// Inspect describes a file without keeping its numbers.
func Inspect(file string, o Options) (*Info, error) {
	c, err := open(file, o)
	if err != nil {
		return nil, err
	}
	chosen, err := c.choose(o.Datasets)
	if err != nil {
		return nil, err
	}
	subject := o.Subject
	if subject == nil {
		subject = DefaultSubject
	}
	i := &Info{File: file, Format: c.format, Subjects: 1, Subject: subject(file), Names: []string{}, FirstRow: []float64{}}
	for k, m := range chosen {
		axes, err := c.axesOf(m, o)
		if err != nil {
			return nil, err
		}
		y := layoutOf(m.shape, axes)
		if k > 0 && y.tokens != i.Tokens {
			return nil, fmt.Errorf("%s: %s has %d tokens, %s has %d", file, m.name, y.tokens, chosen[0].name, i.Tokens)
		}
		i.Tokens = y.tokens
		i.Frames += y.slices * y.frames
		if y.slicesAreSubjects {
			i.Subjects = y.slices
		}
		i.Runs += y.slices
		if m.names != nil {
			i.Names = m.names
		}
		if i.HemisphereOrder = partition.Hemispheres(m.names); i.HemisphereOrder == partition.Unknown {
			i.HemisphereOrder = partition.Hemispheres(m.sides)
		}
		if m.name != "" {
			i.Datasets = append(i.Datasets, m.name)
		}
		if k == 0 {
			a, err := m.load()
			if err != nil {
				return nil, err
			}
			i.FirstRow = a.Data[:min(5, m.shape[len(m.shape)-1], len(a.Data))]
		}
	}
	i.SHA256, err = digest(file)
	return i, err
}

func digest(file string) (sum string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
