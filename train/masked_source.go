package train

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/data/hcp"
	"torchpe/data/masked"
	"torchpe/data/nmar"
	"torchpe/data/series"
	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// source is the table of a masked-prediction task and the origin of its parts.
type source struct {
	table    masked.Table
	subjects []string // by group; nil if the table has no groups
	runs     []series.Run
	held     []int // subjects that a table holds out; nil without such a table
	modules  string
	arScale  float64 // for a simulated network: the factor on its autoregressive weights
	notes    []string
}

func readSource(m *config.MaskedConfig, c Config) (source, error) {
	if m.NMAR != nil {
		return simulate(m, c.DataSeed)
	}
	d, err := readDataset(m, c)
	if err != nil {
		return source{}, err
	}
	s := source{subjects: d.Subjects, runs: d.Runs, held: d.Test, notes: d.Notes}
	s.table = masked.Table{Frames: d.Frames, Tokens: d.Tokens, X: d.X, Names: d.Names, Groups: d.OfFrame}
	if d.Modules != nil {
		s.table.Modules, s.table.ModuleNames = d.Modules.Labels, d.Modules.Modules
		s.modules = d.Modules.How
	}
	return s, nil
}

const surrogateNote = "this is a surrogate, not human fMRI."

func readDataset(m *config.MaskedConfig, c Config) (*series.Dataset, error) {
	if m.Surrogate == nil {
		files := *m.Files
		files.Header = c.FirstLine()
		d, err := files.Read(c.Facts().TokenCounts, m.ZScore)
		if err == nil && hcp.AreSurrogates(d.Subjects) {
			d.Notes = append(d.Notes, "The subjects are those of torchpe data hcp generate: "+surrogateNote)
		}
		return d, err
	}
	o := hcp.DefaultOptions()
	o.Subjects, o.Frames = m.Surrogate.Subjects, m.Surrogate.Frames
	d, err := hcp.Make(o, c.DataSeed)
	if err == nil {
		d.Notes = []string{"No data was given: " + surrogateNote}
	}
	return d, err
}

func simulate(c *config.MaskedConfig, seed uint64) (source, error) {
	sim, err := nmar.Simulate(c.NMAR.Options(), seed)
	if err != nil {
		return source{}, err
	}
	s := source{
		table: masked.Table{
			Frames: c.NMAR.Frames, Tokens: c.NMAR.Nodes, X: sim.X, Names: sim.Names, Modules: sim.Labels,
		},
		runs:    []series.Run{{Frames: c.NMAR.Frames}},
		modules: fmt.Sprintf("of the simulation, nodes in an order drawn by data seed %d", seed),
		arScale: sim.Options.Scale,
	}
	if !sim.Stable() {
		s.notes = []string{fmt.Sprintf("The simulated network is unstable: its linearisation has "+
			"spectral radius %.3g, which should be below 1. It leaves its rest state, and nodes have means "+
			"far from 0; lower --nmar-scale from %.4g, or leave it out.",
			sim.SpectralRadius(), sim.Options.Scale)}
	}
	if c.ZScore {
		err = standardise(s.table)
	}
	return s, err
}

func (s source) split(c *config.MaskedConfig, seed uint64) (masked.Split, error) {
	how := c.Split
	if how == config.AutoSplit {
		how = config.TimeSplit
		if len(s.subjects) > 1 {
			how = config.SubjectSplit
		}
	}
	if s.held != nil && how != config.SubjectSplit {
		return masked.Split{}, fmt.Errorf(
			"--split: %s, but the table of --subjects holds out whole subjects", how)
	}
	if s.held != nil && c.TestShare != masked.DefaultHeldOut {
		return masked.Split{}, fmt.Errorf(
			"--test-share: %g, but the column set of --subjects says which subjects are held out: "+
				"omit one of the two",
			c.TestShare)
	}
	switch how {
	case config.SubjectSplit:
		if s.held != nil {
			split, err := masked.HoldOutGroups(s.table.Groups, s.held)
			split.How = fmt.Sprintf("%d of %d subjects held out by the table",
				len(s.held), len(s.subjects))
			return split, err
		}
		if len(s.subjects) < 2 {
			return masked.Split{}, fmt.Errorf(
				"--split subjects: the data has %s: hold out time points with --split time",
				wording.Count(max(1, len(s.subjects)), "subject"))
		}
		split, err := masked.SplitGroups(s.table.Groups, c.TestShare, seed)
		split.How = fmt.Sprintf("%d of %d subjects held out by data seed %d",
			len(split.TestGroups), len(s.subjects), seed)
		return split, err
	case config.RandomSplit:
		drawn := masked.TimeSplit{Share: c.TestShare, Random: true, Seed: seed}
		return masked.SplitTime(s.table.Frames, drawn)
	}
	var all masked.Split
	for _, r := range s.runs {
		one, err := masked.SplitTime(r.Frames, masked.TimeSplit{Share: c.TestShare})
		if err != nil {
			return all, fmt.Errorf("run %s %s: %w", r.File, r.Name, err)
		}
		for _, f := range one.Train {
			all.Train = append(all.Train, r.First+f)
		}
		for _, f := range one.Test {
			all.Test = append(all.Test, r.First+f)
		}
		all.How = one.How
	}
	if len(s.runs) > 1 {
		all.How = fmt.Sprintf("the last time points of each of %d runs held out, %d of %d",
			len(s.runs), len(all.Test), s.table.Frames)
	}
	return all, nil
}

func (s source) summary(split masked.Split, measured int) *runlog.DataSummary {
	d := &runlog.DataSummary{
		Frames: s.table.Frames, Tokens: s.table.Tokens,
		Subjects: max(1, len(s.subjects)), Runs: max(1, len(s.runs)),
		TrainFrames: len(split.Train), TestFrames: len(split.Test), MeasuredFrames: measured,
		Split: split.How, Modules: len(s.table.ModuleNames), ModulesFrom: s.modules,
		Surrogate: hcp.AreSurrogates(s.subjects), ARScale: s.arScale, Notes: s.notes,
	}
	if d.Modules == 0 && s.table.Modules != nil {
		d.Modules = slices.Max(s.table.Modules) + 1
	}
	for _, g := range split.TestGroups {
		d.TestSubjects = append(d.TestSubjects, s.subjects[g])
	}
	return d
}

func dataNotes(d *runlog.DataSummary) []string {
	text := fmt.Sprintf("data: %d frames of %d tokens, %s of %s; %s",
		d.Frames, d.Tokens, wording.Count(d.Runs, "run"), wording.Count(d.Subjects, "subject"), d.Split)
	if n := len(d.TestSubjects); n > 0 {
		const most = 8
		named := strings.Join(d.TestSubjects[:min(n, most)], ", ")
		if n > most {
			named += ", ..."
		}
		text += " (" + named + ")"
	}
	if d.MeasuredFrames < d.TestFrames {
		text += fmt.Sprintf("; %d of %d held-out frames measured (--test-frames)", d.MeasuredFrames, d.TestFrames)
	}
	all := []string{text}
	if d.Modules > 0 {
		all = append(all, fmt.Sprintf("modules: %d, %s", d.Modules, d.ModulesFrom))
	}
	return append(all, d.Notes...)
}
