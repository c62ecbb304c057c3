package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array"
	"torchpe/data/sequence"
	"torchpe/internal/atomicfile"
	"torchpe/internal/wording"
)

func newSequenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sequence",
		Short: "Formal-language tasks of any length",
		Long: `Formal-language tasks of any length (Delétang et al. 2023, Ruoss et al. 2023), which torchpe train
--task sequence trains on short inputs and measures on longer ones.

Files are text, an example a line: input, output, and how many characters of the output count.`,
		Args: noArguments,
		RunE: showHelp,
	}
	cmd.AddCommand(newSequenceListCommand(), newSequenceShowCommand(), newSequenceGenerateCommand(),
		newSequenceCheckCommand())
	return cmd
}

func newSequenceListCommand() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks",
		Long:  "List the tasks, by level of the Chomsky hierarchy.",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []map[string]string
			var rows [][]string
			for _, t := range sequence.All() {
				all = append(all, map[string]string{"task": t.Name, "level": t.Level, "inputs": t.Symbols,
					"outputs": t.Classes, "output": t.About})
				rows = append(rows, []string{t.Name, t.Level, t.Symbols, t.Classes, t.About})
			}
			if *asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			printTable(cmd.OutOrStdout(), []string{"task", "level", "inputs", "outputs", "output"}, rows,
				"level", "inputs", "outputs")
			return nil
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

// drawnFlags holds the flags of what draws sequences.
type drawnFlags struct {
	count, length int
	seed          uint64
	out           string
}

func (f *drawnFlags) add(cmd *cobra.Command, count int) {
	fl := cmd.Flags()
	fl.IntVar(&f.count, "count", count, "examples")
	fl.IntVar(&f.length, "length", 10, "length of the inputs")
	fl.Uint64Var(&f.seed, "seed", 0, "seed")
}

func (f *drawnFlags) draw(name string) (t sequence.Task, examples []sequence.Example, err error) {
	if t, err = sequence.Find(name); err != nil {
		return t, nil, usageError{err}
	}
	if f.count < 1 || f.length < 1 {
		return t, nil, usagef("--count %d, --length %d: want at least 1", f.count, f.length)
	}
	r := rand.New(rand.NewPCG(f.seed, uint64(f.length)))
	for range f.count {
		examples = append(examples, t.Draw(r, f.length))
	}
	return t, examples, nil
}

func newSequenceShowCommand() *cobra.Command {
	var f drawnFlags
	var asJSON *bool
	cmd := &cobra.Command{
		Use:     "show TASK",
		Short:   "Show examples of a task",
		Example: "  torchpe data sequence show missing-duplicate --length 9",
		Args:    exactly("TASK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, examples, err := f.draw(args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if *asJSON {
				type example struct {
					Input  string `json:"input"`
					Output string `json:"output"`
					Scored int    `json:"scored"`
				}
				var all []example
				for _, e := range examples {
					all = append(all, example{t.Text(e.Input), t.OutputText(e.Output), e.Scored})
				}
				return printJSON(out, all)
			}
			fmt.Fprintf(out, "%s (%s): %s\n", t.Name, t.Level, t.About)
			for _, e := range examples {
				fmt.Fprintf(out, "%s -> %s\n", t.Text(e.Input), t.OutputText(e.Output))
			}
			return nil
		},
	}
	f.add(cmd, 5)
	asJSON = jsonFlag(cmd)
	return cmd
}

func newSequenceGenerateCommand() *cobra.Command {
	var f drawnFlags
	var force bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:     "generate TASK --out FILE",
		Short:   "Write examples of a task to a file",
		Example: "  torchpe data sequence generate reverse-string --length 40 --count 1000 --out reverse.txt",
		Args:    exactly("TASK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return usagef("--out is missing: name the file to write")
			}
			t, examples, err := f.draw(args[0])
			if err != nil {
				return err
			}
			if err := checkAbsent(force, f.out); err != nil {
				return err
			}
			err = atomicfile.Write(f.out, func(w io.Writer) error {
				for _, e := range examples {
					fmt.Fprintf(w, "%s %s %d\n", t.Text(e.Input), t.OutputText(e.Output), e.Scored)
				}
				return nil
			})
			if err != nil || !*asJSON {
				return err
			}
			return printJSON(cmd.OutOrStdout(), sequenceFile{f.out, t.Name, len(examples), f.length, f.length})
		},
	}
	f.add(cmd, 1000)
	cmd.Flags().StringVar(&f.out, "out", "", "file to write (required)")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	asJSON = jsonFlag(cmd)
	return cmd
}

// sequenceFile describes a file as generate and check print it with --json.
type sequenceFile struct {
	File     string `json:"file"`
	Task     string `json:"task"`
	Examples int    `json:"examples"`
	Shortest int    `json:"shortest"` // input
	Longest  int    `json:"longest"`
}

func newSequenceCheckCommand() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "check TASK FILE",
		Short: "Check the answers in a file",
		Long: `Check that each line of FILE holds an input of the task, its output, and how many characters of the
output count.`,
		Example: "  torchpe data sequence check reverse-string reverse.txt",
		Args:    exactly("TASK", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := sequence.Find(args[0])
			if err != nil {
				return usageError{err}
			}
			file, err := array.Open(args[1])
			if err != nil {
				return fileErrorAsUsage(err)
			}
			defer file.Close()
			n, shortest, longest := 0, 0, 0
			lines := bufio.NewScanner(file)
			for lines.Scan() {
				n++
				length, err := checkExample(t, lines.Text())
				if err != nil {
					return fmt.Errorf("%s: line %d: %w", args[1], n, err)
				}
				shortest, longest = min(cmp.Or(shortest, length), length), max(longest, length)
			}
			if err := lines.Err(); err != nil {
				return fmt.Errorf("%s: line %d: %w", args[1], n+1, err)
			}
			if n == 0 {
				return fmt.Errorf("%s: it has no lines", args[1])
			}
			if *asJSON {
				return printJSON(cmd.OutOrStdout(), sequenceFile{args[1], t.Name, n, shortest, longest})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s of %s, lengths %d to %d: all answers are right\n",
				wording.Count(n, "example"), t.Name, shortest, longest)
			return nil
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

// checkExample checks a line of a file and returns the length of its input.
func checkExample(t sequence.Task, line string) (length int, err error) {
	words := strings.Fields(line)
	if len(words) != 3 {
		return 0, fmt.Errorf("%s, want 3: input, output, number that counts", wording.Count(len(words), "word"))
	}
	input, err := t.Parse(words[0])
	if err != nil {
		return 0, err
	}
	e, err := t.Answer(input)
	if err != nil {
		return 0, err
	}
	if want := t.OutputText(e.Output); words[1] != want {
		return 0, fmt.Errorf("the output to %s is %s, not %s", words[0], want, words[1])
	}
	if words[2] != strconv.Itoa(e.Scored) {
		return 0, fmt.Errorf("%d characters of %s count, not %s", e.Scored, words[1], words[2])
	}
	return len(input), nil
}
