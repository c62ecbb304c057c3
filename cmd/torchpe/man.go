package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"torchpe/train/runlog"
)

// newManCommand returns "torchpe man", which who packs the program uses.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page a command",
		Hidden: true,
		Args:   oneFolder("man pages"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the day of writing
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "torchpe " + runlog.Version,
				Manual: fmt.Sprintf("Manual of %s", root.Name())}, args[0])
		},
	}
}
