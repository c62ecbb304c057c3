package series

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	Shape           []int           `json:"shape"` // of the array, or the first of several
	Axes            []Axis          `json:"axes"`  // what they stand for; empty where nothing says it
	Subjects        int             `json:"subjects"`
	Runs            int             `json:"runs"`
	Tokens          int             `json:"tokens"` // 0 where the axes are not known, as frames
	Frames          int             `json:"frames"` // of all runs together
	Subject         string          `json:"subject"`
	Names           []string        `json:"names"`                // of the tokens; empty where the file has none
	NamesFrom       string          `json:"names_from,omitempty"` // the file that has them
	HemisphereOrder partition.Order `json:"hemisphere_order"`     // by the names, or in CIFTI by the structures
	SHA256          string          `json:"sha256"`
	FirstRow        []Number        `json:"first_row"`  // the first five numbers of the first row, as nibabel, h5py, scipy or numpy show the array
	NotFinite       int             `json:"not_finite"` // how many numbers are NaN or infinite
	Datasets        []string        `json:"datasets,omitempty"`
	Problem         string          `json:"problem,omitempty"` // why the file cannot be read as a series without more being said
}

// Number is a number that JSON writes as null where it is NaN or infinite.
type Number float64

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	if n-n != 0 { // true for NaN and infinities
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Inspect describes a file without keeping its numbers. What keeps it from being read as a series is part of the description,
// unless it is the options that do not fit the file.
func Inspect(file string, o Options) (*Info, error) {
	c, err := open(file, o)
	if err != nil {
		return nil, err
	}
	subject := o.Subject
	if subject == nil {
		subject = DefaultSubject
	}
	i := &Info{
		File: file, Format: c.format, Shape: []int{}, Axes: []Axis{}, Subjects: 1, Subject: subject(file), Names: []string{}, FirstRow: []Number{},
		HemisphereOrder: partition.Unknown,
	}
	chosen, err := c.choose(o.Datasets)
	if err != nil {
		if len(o.Datasets) > 0 {
			return nil, err
		}
		i.Problem = err.Error()
	}
	for _, m := range chosen {
		if err := i.add(c, m, o); err != nil {
			return nil, err
		}
	}
	i.SHA256, err = digest(file)
	return i, err
}

// add describes one more matrix of the file.
func (i *Info) add(c *content, m matrix, o Options) error {
	axes, err := c.axesOf(m, o)
	if err != nil {
		if o.Axes != nil || o.Names != nil || o.TokensFrom != "" {
			return err
		}
		i.Problem = err.Error()
		axes = m.axes // names tell them, even if there are too many
	}
	first := len(i.Shape) == 0
	if first {
		i.Shape, i.Axes = m.shape, append(i.Axes, axes...)
	}
	y := layout{slices: 1}
	if axes != nil {
		y = layoutOf(m.shape, axes)
	}
	switch {
	case first:
		i.Tokens = y.tokens
	case y.tokens != i.Tokens && i.Problem == "":
		i.Problem = fmt.Sprintf("%s: %s has %d tokens, those before it %d: name those of one kind with --dataset", c.file, m.name, y.tokens, i.Tokens)
	}
	i.Frames += y.slices * y.frames
	i.Runs += y.slices
	if y.slicesAreSubjects {
		i.Subjects = y.slices
	}
	switch {
	case m.names != nil:
		i.Names, i.NamesFrom = m.names, m.namesFrom
	case o.Names != nil:
		i.Names, i.NamesFrom = o.Names, o.NamesFrom
	}
	i.HemisphereOrder = partition.OrderOf(i.Names, m.sides)
	if m.name != "" {
		i.Datasets = append(i.Datasets, m.name)
	}
	a, err := m.load()
	if err != nil {
		return err
	}
	for _, v := range a.Data {
		if v-v != 0 {
			i.NotFinite++
		}
	}
	for _, v := range a.Data[:min(5, m.shape[len(m.shape)-1], len(a.Data))] {
		if first {
			i.FirstRow = append(i.FirstRow, Number(v))
		}
	}
	return nil
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
