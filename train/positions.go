package train

import (
	"fmt"

	"torchpe/data/positions"
	"torchpe/models/pe"
	"torchpe/train/config"
)

// place returns where the tokens of a task lie - as the file of the configuration has it, else as
// usual - and what should be said about it.
func (c Config) place(tokens positions.Tokens, usual pe.Positions) (
	at pe.Positions, notes []string, err error,
) {
	if c.Positions == nil {
		return usual, nil, nil
	}
	sum, err := config.SumOf(c.Positions.File)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	if sum != c.Positions.SHA256 {
		return at, nil, fmt.Errorf("--positions: %s has changed: its SHA-256 is %.12s..., and that in the "+
			"configuration is %.12s...: put the file back as it was, "+
			"or start a new run with --positions %s", c.Positions.File, sum, c.Positions.SHA256, c.Positions.File)
	}
	file, err := positions.Read(c.Positions.File, positions.Form(c.Positions.As), c.FirstLine(), tokens.Names...)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	e, err := c.encoding()
	if err != nil {
		return at, nil, err
	}
	if e.Needs <= pe.NeedsOrder && e.start.Kind == pe.MDSInit { // which takes more than the order
		e.Needs = pe.NeedsPoints
		if file.Form == positions.Graph || file.Form == positions.Edges {
			e.Needs = pe.NeedsGraph
		}
	}
	at, notes, err = Place(file, tokens, e.Scheme)
	if err != nil {
		return at, nil, fmt.Errorf("--positions: %w", err)
	}
	return at, notes, nil
}

// Place returns where a file says that tokens lie, and notes on how it was read and on what of it a
// scheme does not use. It is an error where the scheme cannot use such positions, or would take
// ranks for places unasked.
func Place(file *positions.File, tokens positions.Tokens, scheme pe.Scheme) (
	at pe.Positions, notes []string, err error,
) {
	placed, err := file.Place(tokens)
	if err != nil {
		return at, nil, err
	}
	at = pe.Positions{Index: placed.Index, Cells: placed.Cells, Points: placed.Points}
	if placed.Weights != nil {
		if at.Graph, err = pe.GraphOf(placed.Weights); err != nil {
			return at, nil, fmt.Errorf("%s: %w", file.Source, err)
		}
	}
	if err := scheme.Fits(at); err != nil {
		return at, nil, fmt.Errorf("%w (%s was read as %s)", err, file.Source, file.Form)
	}
	knowsOrder := scheme.Needs == pe.NeedsSame || scheme.Needs == pe.NeedsOrder // and nothing else
	orderAlone := knowsOrder || scheme.Needs == pe.NeedsGraph && at.Graph == nil && at.Cells == nil
	if placed.Ranked && orderAlone {
		return at, nil, fmt.Errorf("%s holds numbers that are not places 0 to %d or 1 to %d, and %s knows "+
			"the order of tokens alone: --positions-as order takes the ranks of the numbers",
			file.Source, len(at.Index)-1, len(at.Index), scheme.Name)
	}
	notes = placed.How
	switch {
	case file.Form == positions.Order:
	case knowsOrder:
		notes = append(notes, fmt.Sprintf("positions: %s knows the order of tokens alone, and nothing "+
			"else of %s", scheme.Name, file.Source))
	case at.Graph != nil && scheme.Needs == pe.NeedsPoints:
		notes = append(notes, fmt.Sprintf("positions: %s takes coordinates, and a graph has none: it "+
			"knows the order of tokens alone", scheme.Name))
	}
	return at, notes, nil
}
