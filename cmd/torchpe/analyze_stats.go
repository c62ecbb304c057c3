package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/nearest"
	"torchpe/report/analysis"
	"torchpe/report/stats"
)

func newAnalyzeStatsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Correlations, t-tests, analysis of variance, correction for many tests, bootstrap",
		Long: `Compare groups of numbers. Numbers are a list such as 0.91,0.93,0.95 or FILE[:column]: a column
of .csv, .tsv or .txt by name or by place from 0 (other columns may hold words), of a .npy
matrix by place, or a tensor of one axis. p-values are two-sided. Results agree with scipy.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newStatsCorrelateCommand(), newStatsTCommand(), newStatsANOVACommand(), newStatsHolmCommand(), newStatsBootstrapCommand())
	return cmd
}

// outcome is a test as it is printed.
type outcome struct {
	Name string `json:"test"`
	stats.Test
	Difference *analysis.Number `json:"mean_difference,omitempty"`
	statistic  string
}

func (o outcome) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, o)
	}
	df := fmt.Sprintf("%.4g", o.DF)
	if o.DF2 != 0 {
		df += fmt.Sprintf(", %.4g", o.DF2)
	}
	head := []string{"test", o.statistic, "df", "p", "n"}
	cells := []string{o.Name, fmt.Sprintf("%.4f", o.Statistic), df, fmt.Sprintf("%.4g", o.P), fmt.Sprint(o.N)}
	if o.Difference != nil {
		head, cells = append(head, "difference of means"), append(cells, o.Difference.String())
	}
	return printTable(out, head, [][]string{cells})
}

// ofInputs says which inputs an error of package stats, which calls them x and y, is about.
func ofInputs(err error, x, y string) error {
	return usagef("--x %s and --y %s: %w", short(x), short(y), err)
}

// short is a reference in a message: lists can be long.
func short(reference string) string {
	const most = 40
	if len(reference) <= most {
		return reference
	}
	return reference[:most] + "..."
}

// columns reads numbers that flags name.
func columns(references map[string]string, flags ...string) ([][]float64, error) {
	var out [][]float64
	for _, flag := range flags {
		if references[flag] == "" {
			return nil, usagef("--%s is missing: give a list of numbers or FILE[:column]", flag)
		}
		c, err := analysis.ReadColumn(references[flag])
		if err != nil {
			return nil, usagef("--%s: %w", flag, err)
		}
		out = append(out, c.Values)
	}
	return out, nil
}

const xHelp = "numbers: a list or FILE[:column] (required)"

func newStatsCorrelateCommand() *cobra.Command {
	var x, y, method string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "correlate --x NUMBERS --y NUMBERS",
		Short: "Pearson's or Spearman's correlation of pairs",
		Long: `Correlation of pairs, with the p-value of none by Student's t on n - 2 degrees of freedom.
spearman is that of the ranks, ties sharing their mean rank.

JSON: {test, statistic, df, p, n}.`,
		Example: `  torchpe analyze stats correlate --x table_a2.csv:validation_acc --y table_a3.csv:cosine --method spearman
  torchpe analyze stats correlate --x 1,2,3,4 --y 2,1,4,3`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			test, ok := map[string]func(x, y []float64) (stats.Test, error){"pearson": stats.Pearson, "spearman": stats.Spearman}[method]
			if !ok {
				return usagef("--method %q is unknown; there are pearson and spearman%s", method, nearest.Hint(method, []string{"pearson", "spearman"}))
			}
			c, err := columns(map[string]string{"x": x, "y": y}, "x", "y")
			if err != nil {
				return err
			}
			t, err := test(c[0], c[1])
			if err != nil {
				return ofInputs(err, x, y)
			}
			return outcome{Name: method, Test: t, statistic: map[string]string{"pearson": "r", "spearman": "rho"}[method]}.print(cmd.OutOrStdout(), asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&x, "x", "", xHelp)
	fl.StringVar(&y, "y", "", xHelp)
	fl.StringVar(&method, "method", "pearson", "pearson or spearman")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newStatsTCommand() *cobra.Command {
	var x, y string
	var paired, welch, asJSON bool
	cmd := &cobra.Command{
		Use:   "t --paired|--welch --x NUMBERS --y NUMBERS",
		Short: "t-test of two groups: of pairs, or of groups whose variances may differ",
		Long: `--paired tests whether the differences x - y have mean 0, on n - 1 degrees of freedom.
--welch tests whether two groups have the same mean, whatever their variances (Welch 1947).

JSON: {test, statistic, df, p, n, mean_difference}; n counts pairs, or the numbers of both groups.`,
		Example: `  torchpe analyze stats t --paired --x a.csv:accuracy --y b.csv:accuracy
  torchpe analyze stats t --welch --x 0.91,0.95,0.97 --y 0.82,0.88,0.90 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if paired == welch {
				return usagef("give one of --paired (numbers belong to each other in their order) and --welch (two groups)")
			}
			c, err := columns(map[string]string{"x": x, "y": y}, "x", "y")
			if err != nil {
				return err
			}
			name, test := "paired t", stats.PairedT
			if welch {
				name, test = "Welch's t", stats.WelchT
			}
			t, err := test(c[0], c[1])
			if err != nil {
				return ofInputs(err, x, y)
			}
			difference := analysis.Number(stats.Mean(c[0]) - stats.Mean(c[1]))
			return outcome{Name: name, Test: t, Difference: &difference, statistic: "t"}.print(cmd.OutOrStdout(), asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.BoolVar(&paired, "paired", false, "of pairs")
	fl.BoolVar(&welch, "welch", false, "of two groups")
	fl.StringVar(&x, "x", "", xHelp)
	fl.StringVar(&y, "y", "", xHelp)
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newStatsANOVACommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "anova NUMBERS NUMBERS...",
		Short: "One-way analysis of variance: have groups the same mean?",
		Long: `F test of whether groups have the same mean, on k - 1 and n - k degrees of freedom.

JSON: {test, statistic, df, df2, p, n}; df2 are the degrees of freedom within groups.`,
		Example: `  torchpe analyze stats anova mse.csv:learn-0.1 mse.csv:learn-2.0 mse.csv:rope
  torchpe analyze stats anova 1,2,3 2,3,4 5,6,7`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var groups [][]float64
			for _, reference := range args {
				c, err := analysis.ReadColumn(reference)
				if err != nil {
					return usageError{err}
				}
				groups = append(groups, c.Values)
			}
			t, err := stats.ANOVA(groups...)
			if err != nil {
				var named []string
				for _, reference := range args {
					named = append(named, short(reference))
				}
				return usagef("groups %s: %w", strings.Join(named, " and "), err)
			}
			return outcome{Name: "one-way ANOVA", Test: t, statistic: "F"}.print(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newStatsHolmCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "holm P...",
		Short: "Correct p-values for their number",
		Long: `Holm's correction (1979): the chance that any true hypothesis among them is rejected stays below the
level that the corrected values are compared with. Each P is a number, or numbers as FILE[:column].

JSON: {p: [...], holm: [...]}.`,
		Example: `  torchpe analyze stats holm 0.01 0.04 0.03
  torchpe analyze stats holm tests.csv:p`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runHolm(cmd.OutOrStdout(), args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func runHolm(out io.Writer, args []string, asJSON bool) error {
	var p []float64
	for _, reference := range args {
		c, err := analysis.ReadColumn(reference)
		if err != nil {
			return usageError{err}
		}
		p = append(p, c.Values...)
	}
	if len(p) == 0 {
		return usagef("no p-values: give one or more")
	}
	corrected, err := stats.Holm(p)
	if err != nil {
		return usageError{err}
	}
	if asJSON {
		return printJSON(out, struct {
			P    []float64 `json:"p"`
			Holm []float64 `json:"holm"`
		}{p, corrected})
	}
	var rows [][]string
	for i := range p {
		rows = append(rows, []string{strconv.FormatFloat(p[i], 'g', 4, 64), strconv.FormatFloat(corrected[i], 'g', 4, 64)})
	}
	return printTable(out, []string{"p", "corrected (Holm)"}, rows)
}

func newStatsBootstrapCommand() *cobra.Command {
	var x, statistic string
	var level float64
	var samples int
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "bootstrap --x NUMBERS",
		Short: "Percentile interval of a mean, median or SD",
		Long: `Percentile bootstrap (Efron and Tibshirani 1993, chapter 13): the statistic of samples of the
numbers drawn with replacement. The same seed gives the same interval.

JSON: {statistic, value, low, high, level, n, samples, seed}.`,
		Example: `  torchpe analyze stats bootstrap --x runs.csv:accuracy --statistic median
  torchpe analyze stats bootstrap --x 0.91,0.95,0.97,0.88 --level 0.9 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, ok := bootstrapped[statistic]
			if !ok {
				return usagef("--statistic %q is unknown; there are mean, median and sd%s", statistic, nearest.Hint(statistic, []string{"mean", "median", "sd"}))
			}
			c, err := columns(map[string]string{"x": x}, "x")
			if err != nil {
				return err
			}
			interval, err := stats.Bootstrap(c[0], f, level, samples, seed)
			if err != nil {
				return usagef("--x %s: %w", short(x), err)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), struct {
					Statistic string  `json:"statistic"`
					Value     float64 `json:"value"`
					stats.Interval
					N       int    `json:"n"`
					Samples int    `json:"samples"`
					Seed    uint64 `json:"seed"`
				}{statistic, f(c[0]), interval, len(c[0]), samples, seed})
			}
			return printTable(cmd.OutOrStdout(), []string{statistic, "low", "high", "level", "n"}, [][]string{row(nil,
				fmt.Sprintf("%.4g", f(c[0])), fmt.Sprintf("%.4g", interval.Low), fmt.Sprintf("%.4g", interval.High), level, len(c[0]))})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&x, "x", "", xHelp)
	fl.StringVar(&statistic, "statistic", "mean", "mean, median or sd")
	fl.Float64Var(&level, "level", 0.95, "share of samples in the interval")
	fl.IntVar(&samples, "samples", 10000, "samples drawn")
	fl.Uint64Var(&seed, "seed", 0, "seed of the draws")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// bootstrapped are the statistics of "bootstrap" by name.
var bootstrapped = map[string]func([]float64) float64{
	"mean": stats.Mean,
	"sd":   stats.SD,
	"median": func(x []float64) float64 {
		return stats.Quantile(slices.Sorted(slices.Values(x)), 0.5)
	},
}
