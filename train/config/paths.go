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
		if !s.Path || s.Flag == "" || !s.hasPlace(c) {
			continue
		}
		for _, path := range s.texts(c) {
			if *path == "" {
				continue
			}
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
	return slices.ContainsFunc(Settings(), func(s Setting) bool {
		return s.Path && s.Flag != "" && s.hasPlace(c) &&
			slices.ContainsFunc(s.texts(c), func(path *string) bool { return *path != "" })
	})
}

// texts returns the texts of a setting that names files.
func (s Setting) texts(c *Config) (all []*string) {
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
	return all
}

// refuseStdin reports standard input in the place of a file: a run that goes on reads its files again.
func refuseStdin(c *Config, s Setting, bad *Problems) {
	for _, path := range s.texts(c) {
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
