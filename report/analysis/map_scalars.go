package analysis

import (
	"errors"
	"fmt"

	"torchpe/data/array/cifti"
	"torchpe/data/partition"
)

// scalarsEnding is the extension by which programs recognise files of scalars over parcels.
const scalarsEnding = ".pscalar.nii"

// readTemplate returns the parcels of --template, or nil if --out is another kind of file.
func (o *mapOptions) readTemplate(in *Input) (*cifti.Template, error) {
	switch isScalars := in.extension() == scalarsEnding; {
	case !isScalars && o.template == "":
		return nil, nil
	case !isScalars:
		return nil, fmt.Errorf("--template is only for --out X%s", scalarsEnding)
	case o.template == "":
		return nil, errors.New("--out " + in.Out + ": give --template FILE, a ptseries, pscalar or pconn file " +
			"with the parcels of the data")
	}
	t, err := cifti.ReadTemplate(o.template)
	if err != nil {
		return nil, fmt.Errorf("--template: %w", err)
	}
	return t, nil
}

// parcelsOf returns the parcel of each of a model's tokens, matched by name if tokens have names, else by
// order, and how they were matched. Every parcel has one token.
func parcelsOf(m *Model, t *cifti.Template) (parcels []int, how string, err error) {
	n := m.Tables[0].Tokens
	if n != len(t.Names) {
		return nil, "", fmt.Errorf("--template %s has %d parcels, and %s %d tokens: give a file with the "+
			"parcels of the data", t.Name, len(t.Names), m.Source, n)
	}
	all := partition.Partition{File: t.Name, Names: [][]string{t.Names}, Modules: t.Names}
	for i := range n {
		all.Labels = append(all.Labels, i)
	}
	matched, err := all.Match(partition.Tokens{Count: n, Names: m.Names, File: m.Source})
	if err != nil {
		return nil, "", fmt.Errorf("--template: %w", err)
	}
	if len(matched.Modules) != n {
		return nil, "", fmt.Errorf("--template %s: two tokens of %s have one parcel's name", t.Name, m.Source)
	}
	return matched.Labels, matched.How, nil
}

// mapScalars returns a pscalar.nii file with one map per member and axis.
func mapScalars(maps []tokenMap, parcels []int, t *cifti.Template) ([]byte, error) {
	var all []cifti.ParcelMap
	for _, m := range maps {
		for axis, name := range m.axes {
			one := cifti.ParcelMap{Name: m.title() + ": " + name, Values: make([]float64, len(parcels))}
			for token, parcel := range parcels {
				one.Values[parcel] = float64(m.at[token][axis])
			}
			all = append(all, one)
		}
	}
	return t.Encode(all)
}
