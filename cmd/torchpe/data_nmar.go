package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/nmar"
	"torchpe/internal/atomicfile"
	"torchpe/internal/number"
	"torchpe/report/analysis"
)

func newNMARCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "nmar",
		Short: "Simulated network of nodes in modules",
		Long: `Nonlinear multivariate autoregressive network (NMAR) of the paper's appendix A.4:
each node depends on its own past, strongly on nodes of its module, weakly on others.

As printed in the paper, the process diverges. By default the autoregressive weights are divided by
the number of lags, which bounds their sum and so the process; --scale takes any other factor.
Networks larger than the paper's 15 nodes in 3 modules would also diverge, because a node's couplings
add up. In a module of m > 5 nodes, couplings within it are therefore multiplied by 4/(m-1); with
more than 10 nodes in other modules, couplings between modules are multiplied by 10/(nodes-m). Their
expected sums are then the paper's.

The nodes are named by module but come in an order drawn from the seed: an encoding of positions on a
line would be modular by itself if the nodes of a module were neighbours.`,
	}, newNMARShowCommand(), newNMARGenerateCommand())
}

// nmarFlags holds the flags of "torchpe data nmar".
type nmarFlags struct {
	options nmar.Options
	seed    uint64
	to      destination // of generate
}

func (f *nmarFlags) add(cmd *cobra.Command) {
	f.options = nmar.DefaultOptions()
	fl, o := cmd.Flags(), &f.options
	fl.IntVar(&o.Nodes, "nodes", o.Nodes, "nodes")
	fl.IntVar(&o.Modules, "modules", o.Modules, "modules, whose sizes differ by at most one")
	fl.IntVar(&o.Frames, "frames", o.Frames, "time points")
	fl.IntVar(&o.Lags, "lags", o.Lags, "past time points of its own that a node depends on")
	fl.Float64Var(&o.Noise, "noise", o.Noise, "standard deviation of the noise")
	fl.Float64Var(&o.Scale, "scale", o.Scale, "factor on the autoregressive weights; 0 = 1/lags")
	fl.Uint64Var(&f.seed, "seed", 0, "seed, 0 to 2^64-1 (train calls it --data-seed)")
}

func newNMARShowCommand() *cobra.Command {
	var f nmarFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Describe a simulated network: stability, correlation within and between modules",
		Example: `  torchpe data nmar show
  torchpe data nmar show --nodes 60 --modules 6 --seed 3 --json`,
	}
	f.add(cmd)
	return leaf(cmd, f.run)
}

func newNMARGenerateCommand() *cobra.Command {
	f := nmarFlags{to: destination{files: []string{"series.csv", "modules.csv"}}}
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write the series and the modules of a simulated network",
		Long: `Write DIR/series.csv, with one row per time point and one column per node, named and in their drawn
order, and DIR/modules.csv with the module of each node. The same flags give the same bytes.`,
		Example: `  torchpe data nmar generate --out network
  torchpe data nmar generate --out large --nodes 360 --modules 12 --frames 5000`,
	}
	f.add(cmd)
	f.to.add(cmd, "folder to write to, created if missing")
	require(cmd, "out")
	return leaf(cmd, f.run, &f.to)
}

// run simulates the network, writes its files if asked to, and describes it.
func (f *nmarFlags) run(*call) (r result, err error) {
	if err := f.options.Validate(); err != nil {
		return r, usageError{err}
	}
	s, err := nmar.Simulate(f.options, f.seed)
	if err != nil {
		return r, err
	}
	if f.to.path != "" {
		if err := f.write(s); err != nil {
			return r, err
		}
	}
	return f.describe(s), nil
}

func (f *nmarFlags) write(s *nmar.Simulation) error {
	if err := os.MkdirAll(f.to.path, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	series, modules := s.CSV()
	return atomicfile.WriteAll(atomicfile.File{Path: f.to.file("series.csv"), Body: atomicfile.Text(series)},
		atomicfile.File{Path: f.to.file("modules.csv"), Body: atomicfile.Text(modules)})
}

// describe describes the network, with advice if it is not stable.
func (f *nmarFlags) describe(s *nmar.Simulation) (r result) {
	sum, o := s.Summarise(), s.Options
	stable := "yes"
	if !sum.Stable {
		stable = "no"
		r.notes = []string{fmt.Sprintf("the network is unstable: the means of its nodes are far from 0; "+
			"lower --scale from %.4g, or leave it out for 1/lags, %.4g", o.Scale, 1/float64(o.Lags))}
	}
	r.value = struct {
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
		Within         analysis.Number `json:"correlation_within"` // null if no two nodes share a module
		Between        analysis.Number `json:"correlation_between"`
		Order          []string        `json:"order"`         // of the nodes, drawn from the seed
		ModuleOf       []int           `json:"order_modules"` // of each of these
	}{o.Nodes, o.Modules, o.Frames, o.Lags, o.Scale, f.seed, analysis.Number(sum.SpectralRadius), sum.Stable,
		sum.Mean, sum.SD, analysis.Number(sum.Within), analysis.Number(sum.Between), s.Names, s.Labels}
	text := func(v float64) string { return number.Fixed(v, 3) }
	span := func(r [2]float64) string { return text(r[0]) + " to " + text(r[1]) }
	r.print = printed([]string{"network", "value"}, [][]string{
		{"nodes", fmt.Sprint(o.Nodes)},
		{"modules", fmt.Sprint(o.Modules)},
		{"time points", fmt.Sprint(o.Frames)},
		{"scale of the autoregressive weights", text(o.Scale)},
		{"spectral radius, linearised", text(sum.SpectralRadius)},
		{"stable", stable},
		{"mean of a node", span(sum.Mean)},
		{"SD of a node", span(sum.SD)},
		{"correlation within modules", text(sum.Within)},
		{"correlation between modules", text(sum.Between)},
		{"modules of the nodes in their drawn order", orderText(s.Labels)},
	})
	return r
}

func orderText(labels []int) string {
	const most = 15
	text := strings.Trim(fmt.Sprint(labels[:min(most, len(labels))]), "[]")
	if len(labels) > most {
		text += " ..."
	}
	return text
}
