package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/data/array/safetensors"
	"torchpe/internal/atomicfile"
	"torchpe/models/export"
)

func newPEExportCommand() *cobra.Command {
	var f instanceFlags
	to := destination{endings: []string{".py"}, force: true}
	cmd := &cobra.Command{
		Use:   "export SCHEME",
		Short: "Write a scheme as one Python file for PyTorch",
		Long: `Write a scheme, with its options and at a given size, as one Python file that needs PyTorch alone.
Its head has the formula, the paper and the differences between implementations. It computes the same
numbers as torchpe.

Trained numbers (initial ones, or those of --params) and fixed tables, such as those of sines and
cosines, are in a .safetensors file of the same name beside it. Without --out the text is printed.`,
		Example: `  torchpe pe export rope --out rope.py
  torchpe pe export alibi --tokens 32 --dim 64 --heads 8
  torchpe pe export learn --params table.npz --out learn.py`,
	}
	f.add(cmd)
	cmd.Flags().StringVar(&to.path, "out", "", "file: .py")
	f.addOptions(cmd)
	return action(cmd, ofInput(func(c *call) (r result, err error) {
		out := to.path
		s, err := f.setting(c)
		if err != nil {
			return r, err
		}
		i, err := f.build(c.args[0], s)
		if err != nil {
			return r, err
		}
		defer i.Close()
		r.notes = f.notes
		numbers := strings.TrimSuffix(out, ".py") + ".safetensors"
		if out == "" {
			numbers = i.Scheme.Name + ".safetensors"
		}
		m, err := export.NewModule(i.Model(), numbers)
		if err != nil {
			return r, err
		}
		if out == "" {
			if m.Numbers != nil {
				r.notes = append(r.notes, fmt.Sprintf("the numbers in %s are written with --out alone", numbers))
			}
			r.print = printf("%s", m.Text)
			return r, nil
		}
		r.files = to.holding(bytesOf([]byte(m.Text)))
		r.print = printf("%s\n", out)
		if m.Numbers != nil {
			r.files = append(r.files, atomicfile.File{Path: numbers, Body: func(w io.Writer) error {
				return safetensors.Encode(w, m.Numbers, map[string]string{"format": "pt"})
			}})
			r.print = printf("%s\n%s\n", out, numbers)
		}
		return r, nil
	}), &to)
}
