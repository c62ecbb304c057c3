package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// outFlags say where a result is written.
type outFlags struct {
	out   string
	force bool
}

func (f *outFlags) add(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&f.out, "out", "", help)
	cmd.Flags().BoolVar(&f.force, "force", false, "overwrite an existing file")
}

// check says whether --out is of a known kind, and may be written.
func (f *outFlags) check(extensions ...string) error {
	if f.out == "" {
		return nil
	}
	if !slices.Contains(extensions, strings.ToLower(filepath.Ext(f.out))) {
		return usagef("--out: %s: want a file called %s", f.out, strings.Join(extensions, " or "))
	}
	if _, err := os.Lstat(f.out); !f.force && !errors.Is(err, fs.ErrNotExist) {
		return usagef("--out: %s exists: use --force to overwrite it", f.out)
	}
	return nil
}

func (f *outFlags) write(body []byte) error { return os.WriteFile(f.out, body, 0o666) }
