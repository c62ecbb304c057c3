package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/hcp"
	"torchpe/data/partition"
	"torchpe/data/series"
	"torchpe/report/metrics"
)

func newHCPCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hcp",
		Short: "Parcellated fMRI: describe, check, convert and clean files; make a surrogate",
		Long: `Parcellated time series of human fMRI, such as the Human Connectome Project's, in CIFTI-2
(ptseries.nii, or dtseries.nii with --parcellation), HDF5, MATLAB (v5 and v7.3), .npy, .npz and
text (CSV, TSV, blanks, AFNI's 1D). docs/own-data.md says more, also on data that is not fMRI.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newHCPInfoCommand(), newHCPCheckCommand(), newHCPConvertCommand(), newHCPCleanCommand(), newHCPGenerateCommand())
	return cmd
}

func newHCPInfoCommand() *cobra.Command {
	var f sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info FILE...",
		Short: "Describe files: format, runs, tokens, frames, order of hemispheres",
		Long: `Describe files without changing anything. first_row in --json are the first five numbers of the
first row of the array as nibabel, h5py, scipy or numpy show it.`,
		Example: `  torchpe data hcp info 100307.ptseries.nii
  torchpe data hcp info --json --dataset '*/nuisanceReg_resid_24pXaCompCorXVolterra' 100307_glmOutput_data.h5`,
		Args: someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			return runHCPInfo(cmd.OutOrStdout(), f.s, files, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl, "")
	fl.BoolVar(&asJSON, "json", false, "print as JSON, one record a file")
	return cmd
}

func someFiles(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no files: name the files or folders with the series")
	}
	return nil
}

func runHCPInfo(w io.Writer, s series.Source, paths []string, asJSON bool) error {
	o, err := s.Options(series.CorticalParcels)
	if err != nil {
		return usageError{err}
	}
	files, err := series.Files(paths, s.Pattern)
	if err != nil {
		return err
	}
	infos := []*series.Info{}
	for _, file := range files {
		info, err := series.Inspect(file, o)
		if err != nil {
			return err
		}
		infos = append(infos, info)
	}
	if asJSON {
		return printJSON(w, infos)
	}
	var rows [][]string
	for _, i := range infos {
		named := "no"
		if len(i.Names) > 0 {
			named = i.Names[0] + ", ..."
		}
		rows = append(rows, []string{i.File, string(i.Format), i.Subject, fmt.Sprint(i.Runs), fmt.Sprint(i.Tokens), fmt.Sprint(i.Frames), named, string(i.HemisphereOrder)})
	}
	return printTable(w, []string{"file", "format", "subject", "runs", "tokens", "frames", "names", "hemispheres"}, rows)
}

// addAll declares the flags that read whole data sets.
func (f *sourceFlags) addAll(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl, "")
	fl.StringVar(&f.s.Modules, "modules", "", "file with the networks: CAB-NP's LabelKey or list, names and labels, or a dlabel.nii")
	fl.StringVar(&f.s.Subjects, "subjects", "", "table with the columns subject, set (train or test) and, if names of files do not tell, file")
}

// hcpCheck is what check prints.
type hcpCheck struct {
	Subjects        int            `json:"subjects"`
	Runs            int            `json:"runs"`
	Frames          int            `json:"frames"`
	Tokens          int            `json:"tokens"`
	NamesFrom       string         `json:"names_from"` // empty where no file has names
	HemisphereOrder string         `json:"hemisphere_order"`
	SD              [2]float64     `json:"sd"` // smallest and largest of a token in a run
	Networks        map[string]int `json:"networks"`
	NetworksFrom    string         `json:"networks_from"`
	Modularity      *float64       `json:"modularity"` // of the mean correlations, negative ones as 0; null without networks
	Notes           []string       `json:"notes"`
}

func newHCPCheckCommand() *cobra.Command {
	var f sourceFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Read a whole data set as training would, and say what fits and what does not",
		Long: `Read files or folders as "torchpe train --task fmri" does: every value must be finite, every file must
have the same tokens, and the networks must fit them, by name where both have names. It prints the
modularity of the mean functional connectivity under these networks: .11 for resting-state fMRI in
the Cole-Anticevic networks. A wrong order of hemispheres changes that number by .003 only, so it is
checked by name.`,
		Example: `  torchpe data hcp check rest/ --modules LabelKey.txt --subjects subjects.tsv`,
		Args:    someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			f.s.Data = files
			return runHCPCheck(cmd.OutOrStdout(), f.s, asJSON)
		},
	}
	f.addAll(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func runHCPCheck(w io.Writer, s series.Source, asJSON bool) error {
	d, err := s.Read(series.CorticalParcels, false)
	if err != nil {
		return err
	}
	c := hcpCheck{
		Subjects: len(d.Subjects), Runs: len(d.Runs), Frames: d.Frames, Tokens: d.Tokens, NamesFrom: d.NamesFrom,
		HemisphereOrder: string(partition.Hemispheres(d.Names)), Networks: map[string]int{}, Notes: append([]string{}, d.Notes...),
	}
	if d.Names == nil {
		c.NamesFrom = ""
	}
	connectivity, sd := meanCorrelations(d.Set)
	c.SD = sd
	if d.Modules != nil {
		c.NetworksFrom = d.Modules.How
		for _, l := range d.Modules.Labels {
			c.Networks[d.Modules.Modules[l]]++
		}
		score, err := metrics.ScoreNetwork(connectivity, d.Modules.Labels)
		if err != nil {
			return err
		}
		c.Modularity = &score.Modularity
	}
	if asJSON {
		return printJSON(w, c)
	}
	rows := [][]string{
		{"subjects", fmt.Sprint(c.Subjects)}, {"runs", fmt.Sprint(c.Runs)}, {"frames", fmt.Sprint(c.Frames)}, {"tokens", fmt.Sprint(c.Tokens)},
		{"names", orWord(c.NamesFrom, "none")}, {"hemispheres", c.HemisphereOrder}, {"SD of a token in a run", fmt.Sprintf("%.3g to %.3g", c.SD[0], c.SD[1])},
	}
	if d.Modules != nil {
		var sizes []string
		for _, name := range d.Modules.Modules {
			sizes = append(sizes, fmt.Sprintf("%s %d", name, c.Networks[name]))
		}
		rows = append(rows, []string{"networks", strings.Join(sizes, ", ")}, []string{"matched", c.NetworksFrom},
			[]string{"modularity", fmt.Sprintf("%.4f of the mean correlations", *c.Modularity)})
	}
	for _, n := range c.Notes {
		rows = append(rows, []string{"note", n})
	}
	for _, r := range rows { // matched and networks are too long for a table
		if _, err := fmt.Fprintf(w, "%-24s %s\n", r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

// meanCorrelations returns the correlations between tokens [tokens, tokens], averaged over runs, with negative ones and the
// diagonal set to 0, and the smallest and the largest SD of a token in a run. A constant token correlates with none.
func meanCorrelations(s *series.Set) (mean []float64, sd [2]float64) {
	n := s.Tokens
	mean, sd = make([]float64, n*n), [2]float64{math.Inf(1), 0}
	for _, r := range s.Runs {
		columns := make([][]float32, n) // z-scored, each over the root of the frames, so that products are correlations
		for t := range columns {
			columns[t] = make([]float32, r.Frames)
			sum, squares := 0.0, 0.0
			for f := range r.Frames {
				sum += float64(s.X[(r.First+f)*n+t])
			}
			centre := sum / float64(r.Frames)
			for f := range r.Frames {
				v := float64(s.X[(r.First+f)*n+t]) - centre
				squares += v * v
			}
			deviation := math.Sqrt(squares / float64(r.Frames))
			sd[0], sd[1] = min(sd[0], deviation), max(sd[1], deviation)
			if squares == 0 {
				continue
			}
			for f := range r.Frames {
				columns[t][f] = float32((float64(s.X[(r.First+f)*n+t]) - centre) / math.Sqrt(squares))
			}
		}
		for i := range n {
			for j := range i {
				var dot float32
				a, b := columns[i], columns[j]
				for f, v := range a {
					dot += v * b[f]
				}
				mean[i*n+j] += float64(dot) / float64(len(s.Runs))
			}
		}
	}
	for i := range n {
		for j := range i {
			mean[i*n+j] = max(0, mean[i*n+j])
			mean[j*n+i] = mean[i*n+j]
		}
	}
	return mean, sd
}

func newHCPConvertCommand() *cobra.Command {
	var f sourceFlags
	var out string
	var zscore, force bool
	cmd := &cobra.Command{
		Use:   "convert FILE... --out DIR",
		Short: "Write every run as a .npy file of frames x tokens",
		Long: `Read files or folders and write DIR/sub-<subject>_run-<n>.npy (float32, frames x tokens) for each run, with
DIR/names.txt where the tokens have names, and DIR/modules.csv with the networks where --modules gives
them. "torchpe train --task fmri --data DIR" reads the folder.`,
		Example: `  torchpe data hcp convert rest/ --pattern '*.ptseries.nii' --out npy`,
		Args:    someFiles,
		RunE: func(cmd *cobra.Command, files []string) error {
			f.s.Data = files
			return runHCPConvert(cmd.OutOrStdout(), f.s, out, zscore, force)
		},
	}
	f.addAll(cmd)
	cmd.Flags().StringVar(&out, "out", "", "directory to write to, made if missing (required)")
	cmd.Flags().BoolVar(&zscore, "zscore", false, "bring each token of each run to mean 0 and SD 1")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite existing files")
	return cmd
}

func runHCPConvert(w io.Writer, s series.Source, out string, zscore, force bool) error {
	if out == "" {
		return usagef("--out is missing: name the directory to write to")
	}
	d, err := s.Read(series.CorticalParcels, zscore)
	if err != nil {
		return err
	}
	modules := d.Modules
	var labels []int
	var names []string
	if modules != nil {
		labels, names = modules.Labels, modules.Modules
	}
	return writeSeries(w, out, force, d.Set, labels, names)
}

// writeSeries writes the runs of a set as .npy files, with the names and modules of its tokens.
func writeSeries(w io.Writer, out string, force bool, s *series.Set, labels []int, modules []string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	count := map[string]int{}
	write := func(name string, fill func(io.Writer) error) error {
		path := filepath.Join(out, name)
		if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s exists: use --force to overwrite it, or another --out", path)
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(fill(f), f.Close())
	}
	for _, r := range s.Runs {
		count[r.Subject]++
		a := array.Array{Shape: []int{r.Frames, s.Tokens}, Data: make([]float64, r.Frames*s.Tokens)}
		for i, v := range s.X[r.First*s.Tokens : (r.First+r.Frames)*s.Tokens] {
			a.Data[i] = float64(v)
		}
		name := fmt.Sprintf("sub-%s_run-%d.npy", fileWord(r.Subject), count[r.Subject])
		if err := write(name, func(w io.Writer) error { return npy.Write(w, a, npy.Float32) }); err != nil {
			return err
		}
	}
	if s.Names != nil {
		text := strings.Join(s.Names, "\n") + "\n"
		if err := write("names.txt", func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
	}
	if labels != nil {
		err := write("modules.csv", func(w io.Writer) error {
			var b strings.Builder
			b.WriteString("name,module\n")
			for i, l := range labels {
				name := fmt.Sprintf("token%d", i+1)
				if s.Names != nil {
					name = s.Names[i]
				}
				fmt.Fprintf(&b, "%s,%s\n", strings.ReplaceAll(name, ",", " "), strings.ReplaceAll(modules[l], ",", " "))
			}
			_, err := io.WriteString(w, b.String())
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d runs, %d frames of %d tokens\n", out, len(s.Runs), s.Frames, s.Tokens)
	return err
}

// fileWord makes a subject's name fit for the name of a file, such that its subject is found again.
func fileWord(subject string) string {
	subject = strings.TrimPrefix(subject, "sub-")
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, subject)
	if word == "" {
		return "unnamed"
	}
	return word
}

func newHCPGenerateCommand() *cobra.Command {
	var out, surrogate string
	var seed uint64
	var force bool
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write a surrogate of resting-state fMRI, whose networks are known",
		Long: `Write the surrogate that "torchpe train --task fmri" uses where it is given no data: 360 parcels in twelve networks
of the Cole-Anticevic sizes, smooth network signals, a global signal, a signal shared with the other hemisphere,
weights that differ between subjects, and noise. The same flags give the same bytes.`,
		Example: `  torchpe data hcp generate --out surrogate --surrogate subjects=12,frames=1195`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHCPGenerate(cmd.OutOrStdout(), out, surrogate, seed, force)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&surrogate, "surrogate", "subjects=12,frames=1195", "its size")
	fl.Uint64Var(&seed, "seed", 0, "seed, 0 to 2^64-1 (training takes its --data-seed)")
	fl.StringVar(&out, "out", "", "directory to write to, made if missing (required)")
	fl.BoolVar(&force, "force", false, "overwrite existing files")
	return cmd
}

func runHCPGenerate(w io.Writer, out, surrogate string, seed uint64, force bool) error {
	if out == "" {
		return usagef("--out is missing: name the directory to write to")
	}
	size, err := parseSurrogate(surrogate, defaultSurrogate())
	if err != nil {
		return usageError{err}
	}
	o := hcp.DefaultOptions()
	o.Subjects, o.Frames = size.Subjects, size.Frames
	made, err := hcp.Make(o, seed)
	if err != nil {
		return usageError{err}
	}
	set := &series.Set{Frames: o.Subjects * o.Frames, Tokens: hcp.Parcels, X: made.X, Names: made.Names}
	for i, subject := range made.Subjects {
		set.Runs = append(set.Runs, series.Run{Subject: subject, First: i * o.Frames, Frames: o.Frames})
	}
	return writeSeries(w, out, force, set, slices.Clone(made.Labels), made.Networks)
}
