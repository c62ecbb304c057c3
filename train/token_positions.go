package train

import (
	"fmt"
	"strings"

	"torchpe/models/pe"
)

// TokenPositions are coordinates of tokens that follow from training samples.
type TokenPositions struct {
	Names       []string    // nil where the data has none
	Coordinates [][]float64 // [tokens][dims]
	Note        string      // how they were found
}

// FindPositions returns where the tokens of masked prediction lie by their training samples alone:
// the coordinates at which learned encodings start with c.PEInit, mds or gradients. Samples that
// training with c would hold out play no part.
func FindPositions(c Config) (p TokenPositions, err error) {
	if err := c.Resolve(); err != nil {
		return p, err
	}
	e, err := c.encoding()
	if err != nil {
		return p, err
	}
	if !c.Facts().HasSeries || e.start.Kind != pe.MDSInit && e.start.Kind != pe.GradientsInit {
		return p, fmt.Errorf("positions follow from data of masked prediction by mds or gradients, not from task %s "+
			"by %s", c.Task, e.start)
	}
	t, err := newMaskedTask(c)
	if err != nil {
		return p, &DataError{err}
	}
	p.Names, p.Coordinates = t.table.Names, make([][]float64, t.table.Tokens)
	for token, row := range t.positions.Index {
		p.Coordinates[token] = t.start[row]
	}
	_, p.Note, _ = strings.Cut(t.data.Notes[len(t.data.Notes)-1], ": ") // "start of learn: ..."
	return p, nil
}
