package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/atomicfile"
	"torchpe/models/pe/vectors"
	"torchpe/report/table"
)

func newPEVectorsCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use:   "vectors",
		Short: "List or write the reference vectors that the schemes are tested against",
		Long: `List the numbers that other people's implementations gave for the schemes, with repository,
commit and licence, or write them: vectors.safetensors holds the arrays, called
SCHEME/CASE/params|inputs|outputs/NAME, and manifest.json says where each case comes from, its
configuration and its tolerance. Cases whose source has no licence that allows commercial use are not
among them; the manifest lists them with the reason.`,
		Example: `  torchpe pe vectors
  torchpe pe vectors --out vectors`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder == "" {
				return listVectors(cmd.OutOrStdout())
			}
			return writeVectors(cmd.OutOrStdout(), folder)
		},
	}
	cmd.Flags().StringVar(&folder, "out", "", "write the files to this directory")
	return cmd
}

// listVectors prints how many cases of each file come from where.
func listVectors(out io.Writer) error {
	m, err := vectors.List()
	if err != nil {
		return err
	}
	t := table.Table{Columns: []table.Column{{Heading: "vectors"}, {Heading: "cases"}, {Heading: "repository"},
		{Heading: "commit"}, {Heading: "licence"}}}
	cases, left := 0, 0
	for _, name := range slices.Sorted(maps.Keys(m.Schemes)) {
		number, of := map[vectors.Case]int{}, []vectors.Case{}
		for _, c := range m.Schemes[name].Cases {
			from := vectors.Case{Repo: c.Repo, Commit: c.Commit[:min(10, len(c.Commit))], Licence: c.Licence}
			if number[from]++; number[from] == 1 {
				of = append(of, from)
			}
			cases++
		}
		for _, c := range of {
			t.Rows = append(t.Rows, table.Row{table.Text(name), table.Number(float64(number[c])),
				table.Text(c.Repo), table.Text(c.Commit), table.Text(c.Licence)})
		}
	}
	for _, reasons := range m.LeftOut {
		left += len(reasons)
	}
	if err := t.Terminal(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d cases; %d others do not ship, for their sources' licences.\n", cases, left)
	return nil
}

// writeVectors writes the files.
func writeVectors(out io.Writer, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	var all []atomicfile.File
	var paths []string
	for _, name := range vectors.FileNames {
		body, err := vectors.Read(name)
		if err != nil {
			return err
		}
		path := filepath.Join(folder, name)
		paths = append(paths, path)
		all = append(all, atomicfile.File{Path: path, Body: func(w io.Writer) error {
			_, err := w.Write(body)
			return err
		}})
	}
	if err := atomicfile.WriteAll(all...); err != nil {
		return err
	}
	fmt.Fprintln(out, strings.Join(paths, "\n"))
	return nil
}
