package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array/safetensors"
	"torchpe/internal/atomicfile"
	"torchpe/models/export"
)

func newPEExportCommand() *cobra.Command {
	var f instanceFlags
	var out string
	cmd := &cobra.Command{
		Use:   "export SCHEME",
		Short: "Write a scheme as one Python file for PyTorch",
		Long: `Write a scheme, with its options and at a given size, as one Python file that needs PyTorch alone.
Its head holds the formula, the paper and in what implementations differ. It computes the same
numbers as torchpe; tables that follow from formulas it computes itself.

Trained numbers, which are initial ones or those of --params, and tables that were drawn or come from
a graph lie in a .safetensors file of the same name beside it. Without --out the text is printed.`,
		Example: `  torchpe pe export rope --out rope.py
  torchpe pe export alibi --tokens 32 --dim 64 --heads 8
  torchpe pe export learn --params table.json --out learn.py`,
		Args: oneScheme,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" && filepath.Ext(out) != ".py" {
				return usagef("--out %s: want a file called .py", out)
			}
			s, err := f.setting(cmd)
			if err != nil {
				return err
			}
			i, err := f.build(args[0], s)
			if err != nil {
				return err
			}
			defer i.Close()
			numbers := strings.TrimSuffix(out, ".py") + ".safetensors"
			if out == "" {
				numbers = i.Scheme.Name + ".safetensors"
			}
			m, err := export.NewModule(i.Model(), numbers)
			if err != nil {
				return usageError{err}
			}
			if out == "" {
				if m.Numbers != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "the numbers in %s are written with --out alone\n", numbers)
				}
				fmt.Fprint(cmd.OutOrStdout(), m.Text)
				return nil
			}
			return writeModule(cmd.OutOrStdout(), m, out, numbers)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&out, "out", "", "file: .py")
	f.addOptions(cmd)
	return cmd
}

func writeModule(out io.Writer, m export.Module, path, numbers string) error {
	files := []atomicfile.File{{Path: path, Body: func(w io.Writer) error {
		_, err := io.WriteString(w, m.Text)
		return err
	}}}
	if m.Numbers != nil {
		files = append(files, atomicfile.File{Path: numbers, Body: func(w io.Writer) error {
			return safetensors.Encode(w, m.Numbers, map[string]string{"format": "pt"})
		}})
	}
	if err := atomicfile.WriteAll(files...); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintln(out, f.Path)
	}
	return nil
}
