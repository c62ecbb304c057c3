package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/nmar"
	"torchpe/report/analysis"
	"torchpe/report/figure"
)

func newNMARCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nmar",
		Short: "Simulated network of nodes in modules",
		Long: `Nonlinear multivariate autoregressive network (NMAR) of the paper's appendix A.4:
each node depends on its own past, strongly on nodes of its module, weakly on others.

As printed in the paper the process diverges. By default the autoregressive weights are
divided by the number of lags, which bounds their sum and with it the process; --scale
takes any other factor. Networks larger than the paper's 15 nodes in 3 modules would leave
rest too, as a node's couplings add up: in a module of m > 5 nodes those within are
multiplied by 4/(m-1), and where more than 10 nodes are in other modules those between by
10/(nodes-m), so that their expected sums stay the paper's.

The nodes, named by module, come in an order drawn from the seed: an encoding of places
on a line would be modular by itself if the nodes of a module lay side by side.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newNMARShowCommand(), newNMARGenerateCommand())
	return cmd
}

// nmarFlags holds the flags of "torchpe data nmar".
type nmarFlags struct {
	options     nmar.Options
	seed        uint64
	out         string
	figure      string
	force, json bool
}

func (f *nmarFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	o := nmar.DefaultOptions()
	f.options = o
	fl.IntVar(&f.options.Nodes, "nodes", o.Nodes, "nodes")
	fl.IntVar(&f.options.Modules, "modules", o.Modules, "modules, of sizes that differ by at most one")
	fl.IntVar(&f.options.Frames, "frames", o.Frames, "time points")
	fl.IntVar(&f.options.Lags, "lags", o.Lags, "time points of its own past that a node depends on")
	fl.Float64Var(&f.options.Noise, "noise", o.Noise, "standard deviation of the noise")
	fl.Float64Var(&f.options.Scale, "scale", o.Scale, "factor on the autoregressive weights; 0 = one over the lags")
	fl.BoolVar(&f.options.AsPrinted, "as-printed", false,
		"the process as the paper prints it: refused, with the reason")
	fl.Uint64Var(&f.seed, "seed", 0, "seed, 0 to 2^64-1 (training takes its --data-seed)")
	fl.StringVar(&f.figure, "figure", "",
		"also draw the network and the first 200 time points to this .pdf, .svg or .png file")
	fl.BoolVar(&f.json, "json", false, "print as JSON")
}

// draw draws the simulation, by module, where --figure asks for it.
func (f *nmarFlags) draw(s *nmar.Simulation) error {
	if f.figure == "" {
		return nil
	}
	const frames = 200
	s = s.ByModule()
	n, o := len(s.Names), s.Options
	fig, err := figure.Compose(figure.Page{Width: figure.PageWidth,
		Rows: []figure.Row{{Height: 2.6, Cells: []figure.Cell{
			{Panel: figure.Matrix{Rows: n, Columns: n, Values: s.Weights, Scale: figure.Diverging,
				BarLabel: "weight", YLabel: "node (to)", XLabel: "node (from)", Groups: s.Labels}},
			{Panel: figure.Traces{XLabel: "time point", Names: s.Names, Groups: s.Labels,
				Values: s.X[:n*min(frames, o.Frames)]}},
		}}},
		Note: fmt.Sprintf("%d nodes in %d modules, seed %d: weights between nodes (A), and the series "+
			"of up to 24 of them about their means, on one scale, in the colours of their modules (B). Nodes are "+
			"ordered by module here; in the data their order is drawn from the seed.", o.Nodes, o.Modules, f.seed),
	})
	if err != nil {
		return err
	}
	return fig.Save(f.figure, "")
}

// simulate returns the simulation that the flags ask for.
func (f *nmarFlags) simulate() (*nmar.Simulation, error) {
	if err := f.options.Validate(); err != nil {
		return nil, usageError{err}
	}
	return nmar.Simulate(f.options, f.seed)
}

func newNMARShowCommand() *cobra.Command {
	var f nmarFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Describe a simulated network: stability, correlation within and between modules",
		Example: `  torchpe data nmar show
  torchpe data nmar show --figure network.pdf
  torchpe data nmar show --nodes 60 --modules 6 --seed 3 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.simulate()
			if err != nil {
				return err
			}
			if err := f.draw(s); err != nil {
				return err
			}
			return printNMAR(cmd, s, &f)
		},
	}
	f.add(cmd)
	return cmd
}

// printNMAR describes the network on stdout, and says on stderr what to do about one that is not
// stable.
func printNMAR(cmd *cobra.Command, s *nmar.Simulation, f *nmarFlags) error {
	sum, o := s.Summarise(), s.Options
	stable := "yes"
	if !sum.Stable {
		stable = "no"
		fmt.Fprintf(cmd.ErrOrStderr(),
			"torchpe: the network is not stable: it leaves rest, and its nodes have means far from 0; "+
				"lower --scale from %.4g, or leave it out for one over the lags, %.4g\n", o.Scale, 1/float64(o.Lags))
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			Nodes          int             `json:"nodes"`
			Modules        int             `json:"modules"`
			Frames         int             `json:"frames"`
			Lags           int             `json:"lags"`
			Scale          float64         `json:"scale"`
			Seed           uint64          `json:"seed"`
			SpectralRadius analysis.Number `json:"spectral_radius"`
			Stable         bool            `json:"stable"`
			Mean           [2]float64      `json:"mean"` // smallest and largest over the nodes
			SD             [2]float64      `json:"sd"`
			Within         analysis.Number `json:"correlation_within"` // null where no two nodes are in one module
			Between        analysis.Number `json:"correlation_between"`
			Order          []string        `json:"order"`         // of the nodes, drawn from the seed
			ModuleOf       []int           `json:"order_modules"` // of each of these
		}{o.Nodes, o.Modules, o.Frames, o.Lags, o.Scale, f.seed, analysis.Number(sum.SpectralRadius), sum.Stable,
			sum.Mean, sum.SD, analysis.Number(sum.Within), analysis.Number(sum.Between), s.Names, s.Labels})
	}
	number := func(v float64) string {
		if math.IsNaN(v) {
			return analysis.None.String()
		}
		return fmt.Sprintf("%.3f", v)
	}
	span := func(r [2]float64) string { return number(r[0]) + " to " + number(r[1]) }
	printTable(cmd.OutOrStdout(), []string{"network", "value"}, [][]string{
		{"nodes", fmt.Sprint(o.Nodes)}, {"modules", fmt.Sprint(o.Modules)}, {"time points", fmt.Sprint(o.Frames)},
		{"scale of the autoregressive weights", number(o.Scale)}, {"spectral radius, linearised",
			number(sum.SpectralRadius)}, {"stable", stable},
		{"mean of a node", span(sum.Mean)}, {"SD of a node", span(sum.SD)},
		{"correlation within modules", number(sum.Within)}, {"correlation between modules", number(sum.Between)},
		{"modules of the nodes in their drawn order", orderText(s.Labels)},
	})
	return nil
}

// orderText lists the modules of the first nodes.
func orderText(labels []int) string {
	const most = 15
	text := strings.Trim(fmt.Sprint(labels[:min(most, len(labels))]), "[]")
	if len(labels) > most {
		text += " ..."
	}
	return text
}

// The two files that generate writes.
const (
	nmarSeriesFile  = "series.csv"
	nmarModulesFile = "modules.csv"
)

func newNMARGenerateCommand() *cobra.Command {
	var f nmarFlags
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write the series and the modules of a simulated network",
		Long: `Write DIR/series.csv, a row a time point and a column a node under their names, in their
drawn order, and DIR/modules.csv with the module of each node. The same flags give the
same bytes.`,
		Example: `  torchpe data nmar generate --out network
  torchpe data nmar generate --out large --nodes 360 --modules 12 --frames 5000`,
		Args: noArguments,
		RunE: f.generate,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "directory to write to, made if missing (required)")
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite existing files")
	return cmd
}

func (f *nmarFlags) generate(cmd *cobra.Command, _ []string) error {
	if f.out == "" {
		return usagef("--out is missing: name the directory to write %s and %s to", nmarSeriesFile, nmarModulesFile)
	}
	s, err := f.simulate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	series, modules := filepath.Join(f.out, nmarSeriesFile), filepath.Join(f.out, nmarModulesFile)
	if err := checkAbsent(f.force, series, modules); err != nil {
		return err
	}
	seriesCSV, modulesCSV := s.CSV()
	err = errors.Join(os.WriteFile(series, seriesCSV, 0o666), os.WriteFile(modules, modulesCSV, 0o666))
	if err != nil {
		return err
	}
	if err := f.draw(s); err != nil {
		return err
	}
	return printNMAR(cmd, s, f)
}
