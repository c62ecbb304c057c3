package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/data/array"
)

// MakePathsAbsolute makes the paths of a configuration's files absolute. It returns an error for
// files that cannot be read.
func MakePathsAbsolute(c *Config) error {
	var faults []error
	for _, s := range Settings() {
		for _, path := range s.paths(c) {
			absolute, err := filepath.Abs(*path)
			if err == nil {
				*path = absolute
				err = checkReadable(absolute)
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("--%s: %w", s.Flag, err))
			}
		}
	}
	return errors.Join(faults...)
}

// NamesFiles reports whether a configuration reads files.
func NamesFiles(c *Config) bool {
	return slices.ContainsFunc(Settings(), func(s Setting) bool { return len(s.paths(c)) > 0 })
}

// paths returns the paths that a setting with a flag names in a configuration; those that are empty are
// left out.
func (s Setting) paths(c *Config) (all []*string) {
	if !s.Path || s.Flag == "" || !s.hasPlace(c) {
		return nil
	}
	for _, v := range s.values(c) {
		switch v := v.Addr().Interface().(type) {
		case *string:
			all = append(all, v)
		case *[]string:
			for i := range *v {
				all = append(all, &(*v)[i])
			}
		}
	}
	return slices.DeleteFunc(all, func(path *string) bool { return *path == "" })
}

// refuseStdin reports standard input in the place of a file: a run that goes on reads its files again.
func refuseStdin(c *Config, s Setting, bad *Problems) {
	for _, path := range s.paths(c) {
		if file, _, _ := strings.Cut(*path, ":"); file == array.Stdin {
			bad.Add("--%s %s: a run cannot read standard input again when it goes on: save it to a file, and name that",
				s.Flag, *path)
		}
	}
}

// checkReadable returns an error where a file is missing; FILE:NAME is an array in a file.
func checkReadable(path string) error {
	_, err := os.Stat(path)
	for i, c := range path {
		if c != ':' || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, inner := os.Stat(path[:i]); inner == nil {
			return nil
		}
	}
	return err
}
