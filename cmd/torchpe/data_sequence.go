package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"torchpe/data/sequence"
)

func newSequenceCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "sequence",
		Short: "Formal-language tasks of any length",
		Long: `Formal-language tasks of any length (Delétang et al. 2023, Ruoss et al. 2023). "torchpe train
--task sequence" trains on short inputs and measures on longer ones.`,
	}, newSequenceListCommand(), newSequenceShowCommand())
}

func newSequenceListCommand() *cobra.Command {
	return leaf(&cobra.Command{
		Use:   "list",
		Short: "List the tasks, by level of the Chomsky hierarchy",
	}, func(*call) (result, error) {
		head := []string{"task", "level", "inputs", "outputs", "output"}
		var all []map[string]string
		var rows [][]string
		for _, t := range sequence.All() {
			row, object := []string{t.Name, t.Level, t.Symbols, t.Classes, t.About}, map[string]string{}
			for i, key := range head {
				object[key] = row[i]
			}
			rows, all = append(rows, row), append(all, object)
		}
		return result{value: all, print: printed(head, rows, "level", "inputs", "outputs")}, nil
	})
}

func newSequenceShowCommand() *cobra.Command {
	count, length := 5, 10
	cmd := &cobra.Command{
		Use:     "show TASK",
		Short:   "Show examples of a task",
		Example: "  torchpe data sequence show missing-duplicate --length 9",
	}
	fl := cmd.Flags()
	fl.Var(bounded{&count, 1, math.MaxInt}, "count", "examples")
	fl.Var(bounded{&length, 1, math.MaxInt}, "length", "length of the inputs")
	seed := fl.Uint64("seed", 0, "seed")
	return leaf(cmd, func(c *call) (result, error) {
		t, err := sequence.Find(c.args[0])
		if err != nil {
			return result{}, usageError{err}
		}
		type example struct {
			Input  string `json:"input"`
			Output string `json:"output"`
			Scored int    `json:"scored"`
		}
		var all []example
		for _, e := range t.DrawMany(count, length, *seed) {
			all = append(all, example{t.Text(e.Input), t.OutputText(e.Output), e.Scored})
		}
		return result{value: all, print: func(w io.Writer) {
			fmt.Fprintf(w, "%s (%s): %s\n", t.Name, t.Level, t.About)
			for _, e := range all {
				fmt.Fprintf(w, "%s -> %s\n", e.Input, e.Output)
			}
		}}, nil
	})
}
