package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array/arrayfile"
	"torchpe/models/pe"
	"torchpe/report/catalogue"
	"torchpe/report/figure"
)

// plotFlags holds the flags of "torchpe pe plot".
type plotFlags struct {
	instanceFlags
	to destination
	x  string
}

func newPEPlotCommand() *cobra.Command {
	f := plotFlags{to: destination{endings: []string{".pdf", ".png", ".svg"}}}
	cmd := &cobra.Command{
		Use:   "plot SCHEME...",
		Short: "Draw one scheme in full, or several side by side",
		Long: `Draw the table of a scheme that adds one, with the dot products of its rows; the bias of each head,
of a scheme that adds to the logits; or, for a scheme that rotates queries and keys, the logits of a query
and a key of ones at all positions. Below, the same against the distance.

Several schemes are drawn side by side, with the first panel of each. An option applies to the schemes
that have it. --json prints their facts.

If the addition depends on the embeddings (conv-pos), it is drawn for those of --x, or for one token of
ones among zeros. An addition to the inputs of queries and keys (detr) is drawn before their projection.
A causal mask alone (c-nope) is drawn as the attention of equal queries and keys.`,
		Example: `  torchpe pe plot 2d-fixed --out 2d-fixed.pdf
  torchpe pe plot alibi --tokens 32 --heads 4 --out alibi.svg
  torchpe pe plot 1d-fixed alibi t5 rope --heads 4 --out four.pdf
  torchpe pe plot graphormer --positions edges.csv --out graph.pdf
  torchpe pe plot learn --params table.npz --out learned.png`,
	}
	f.add(cmd)
	f.addStart(cmd)
	cmd.Flags().StringVar(&f.x, "x", "",
		"embeddings [N,D] for schemes whose addition depends on them, an .npy or .csv file")
	f.to.add(cmd, "file: .pdf, .png or .svg")
	f.options = schemeFlags(cmd.Flags())
	require(cmd, "out")
	return leaf(cmd, ofInput(f.run), &f.to)
}

func (f *plotFlags) run(c *call) (r result, err error) {
	names := c.args
	s, err := f.setting(c)
	if err != nil {
		return r, err
	}
	if len(names) > 1 && f.params != "" {
		return r, fmt.Errorf("--params is for one scheme: %d are named", len(names))
	}
	var schemes []pe.Scheme
	for _, name := range names {
		scheme, err := findScheme(name)
		if err != nil {
			return r, err
		}
		schemes = append(schemes, scheme)
	}
	entries, settings, err := catalogue.DescribeAll(schemes, s)
	if err != nil {
		return r, err
	}
	fig, err := f.draw(names, settings)
	if err != nil {
		return r, err
	}
	r.files = f.to.holding(func(w io.Writer) error {
		return fig.Encode(w, strings.ToLower(strings.TrimPrefix(filepath.Ext(f.to.path), ".")))
	})
	r.value, r.notes = entries, f.notes
	r.print = printf("%s: %s, layer %d\n", f.to.path, strings.Join(names, ", "), f.layer)
	return r, nil
}

func (f *plotFlags) draw(names []string, settings []catalogue.Setting) (*figure.Figure, error) {
	var all []*catalogue.Instance
	defer func() {
		for _, i := range all {
			i.Close()
		}
	}()
	var x arrayfile.Array
	if f.x != "" {
		var err error
		if x, err = catalogue.ReadArray(f.x, f.header); err != nil {
			return nil, fmt.Errorf("--x: %w", err)
		}
		notes, err := f.matchRows(settings[0], &x)
		if err != nil {
			return nil, err
		}
		f.notes = append(f.notes, notes...)
	}
	for k, name := range names {
		i, err := f.build(name, settings[k])
		if err != nil {
			return nil, err
		}
		i.X = x.Array
		all = append(all, i)
	}
	return catalogue.Plot(all, f.layer)
}
