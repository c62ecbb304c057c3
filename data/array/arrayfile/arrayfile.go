// Package arrayfile reads arrays from files of any format of package array's subfolders: FILE, or
// FILE:NAME if it holds several.
package arrayfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/text"
	"torchpe/internal/wording"
)

// Array is an array of a file with the names that the file gives to its rows and columns.
type Array struct {
	array.Array
	Source  string   // FILE, or FILE:tensor
	Rows    []string // names of the rows, or nil
	Columns []string // names of the columns, or nil
}

// Split splits FILE[:selector] at the last colon that follows the name of an existing file or array.Stdin.
func Split(reference string) (file, selector string, err error) {
	if reference == "" {
		return "", "", fmt.Errorf("no file given: give FILE or FILE:tensor")
	}
	for at := len(reference); at > 0; at = strings.LastIndexByte(reference[:at], ':') {
		if reference[:at] == array.Stdin {
			return array.Stdin, strings.TrimPrefix(reference[at:], ":"), nil
		}
		info, statErr := os.Stat(reference[:at])
		if statErr != nil {
			if err == nil {
				err = statErr
			}
			continue
		}
		if err := array.CheckRegular(reference[:at], info); err != nil {
			return "", "", err
		}
		return reference[:at], strings.TrimPrefix(reference[at:], ":"), nil
	}
	return "", "", err
}

// Read reads the array FILE[:tensor]: in .safetensors, .npz, HDF5 and .mat by the name of the
// tensor, which may be omitted if only one fits; .npy and text as a whole. header says whether the
// first line of text holds names. fits returns an error for a shape that the caller cannot use.
func Read(reference string, header text.Choice, fits func(shape []int) error) (a Array, err error) {
	defer array.Catch(&err)
	file, name, err := Split(reference)
	array.Fail(err)
	return choose(file, name, list(file, header), fits).read(file), nil
}

// ReadAll reads all arrays of a file, which must have real numbers. header is as for Read.
func ReadAll(file string, header text.Choice) ([]array.Array, error) {
	all, unread, err := ReadReal(file, header)
	if err = errors.Join(err, unread); err != nil {
		return nil, err
	}
	return all, nil
}

// ReadReal reads all arrays of a file that have real numbers. unread says why another array is not read.
func ReadReal(file string, header text.Choice) (all []array.Array, unread, err error) {
	defer array.Catch(&err)
	for _, e := range list(file, header) {
		a, err := array.Try(func() Array { return e.read(file) })
		switch {
		case err == nil:
			all = append(all, a.Array)
		case e.Real:
			return nil, nil, err
		case unread == nil:
			unread = err
		}
	}
	return all, unread, nil
}

// Entry is an array in a file.
type Entry struct {
	Name  string // empty for the only array of a file, without a name
	Shape []int
	Type  string // type of its values, in the terms of the format
	Real  bool   // the values are real numbers
	Cell  *Cell  // of MATLAB's cell arrays; nil elsewhere
	load  func(Entry) Array
}

// Cell is the position of an array in a cell array.
type Cell struct {
	Of    string // the cell array
	Shape []int  // of the cell array
	Index []int  // from 1
}

// Load reads the array. If it does not have real numbers, the error has advice.
func (e Entry) Load() (array.Array, error) {
	a, err := array.Try(e.loaded)
	return a.Array, err
}

func (e Entry) loaded() Array {
	a := e.load(e)
	if !e.Real {
		array.Failf("%s is %s, want real numbers", array.Printable(e.Name), array.Printable(e.Type))
	}
	return a
}

// String names the array with its shape.
func (e Entry) String() string {
	if !e.Real {
		return fmt.Sprintf("%s %v (%s)", array.Printable(e.Name), e.Shape, array.Printable(e.Type))
	}
	return fmt.Sprintf("%s %v", array.Printable(e.Name), e.Shape)
}

func (e Entry) read(file string) Array {
	defer array.Within("%s", file)
	a := e.loaded()
	array.Fail(a.Check())
	a.Source = file
	if e.Name != "" {
		a.Source += ":" + e.Name
	}
	return a
}

// choose finds the entry called name, or the only one that fits.
func choose(file, name string, entries []Entry, fits func([]int) error) Entry {
	if len(entries) == 1 && entries[0].Name == "" {
		e := entries[0]
		if name != "" {
			array.Failf("%s holds one array, of shape %v: omit :%s", file, e.Shape, name)
		}
		if err := fits(e.Shape); err != nil {
			array.Failf("%s: %w", file, err)
		}
		return e
	}
	if name != "" {
		return find(file, name, entries, fits)
	}
	var possible []Entry
	for _, e := range entries {
		if e.Real && fits(e.Shape) == nil || e.IsUnread() {
			possible = append(possible, e)
		}
	}
	switch {
	case len(possible) == 1:
		return possible[0] // reading an unread one returns an error with advice
	case len(possible) > 1:
		array.Failf("%s holds several tensors: choose one with %s:%s; there are %s",
			file, file, array.Printable(possible[0].Name), listed(possible))
	case len(entries) == 0:
		array.Failf("%s holds no arrays", file)
	}
	for _, e := range entries {
		if err := fits(e.Shape); e.Real && err != nil {
			array.Failf("%s: none of its tensors fits: %s: %w; it has %s",
				file, array.Printable(e.Name), err, listed(entries))
		}
	}
	array.Failf("%s holds no real numbers; it has %s", file, listed(entries))
	return Entry{}
}

// find returns the entry called name, which must fit if it has real numbers.
func find(file, name string, entries []Entry, fits func([]int) error) Entry {
	e, ok, err := Find(entries, name)
	if !ok {
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name
		}
		array.Failf("%s has no tensor %q%s; it has %s",
			file, name, wording.Hint(name, names), listed(entries))
	}
	if err == nil && e.Real {
		if err = fits(e.Shape); err != nil {
			err = fmt.Errorf("%s: %w", array.Printable(e.Name), err)
		}
	}
	if err != nil {
		array.Failf("%s: %w", file, err)
	}
	return e
}

// Find returns the entry called name, with or without the leading slash of HDF5. s.a is a field of
// a MATLAB struct; in a file of version 5 it is read to find its shape.
func Find(entries []Entry, name string) (e Entry, ok bool, err error) {
	for _, e := range entries {
		if e.Name == name || strings.TrimPrefix(e.Name, "/") == name {
			return e, true, nil
		}
	}
	for _, e := range entries {
		switch {
		case !strings.HasPrefix(e.Name, "/") && strings.ReplaceAll(e.Name, "/", ".") == name:
			return e, true, nil
		case e.Type == "struct" && strings.HasPrefix(name, e.Name+"."):
			a, err := array.Try(func() Array { return e.load(Entry{Name: name}) })
			load := func(Entry) Array { return a }
			return Entry{Name: name, Shape: a.Shape, Real: true, load: load}, true, err
		}
	}
	return Entry{}, false, nil
}

// listed describes entries in a message.
func listed(entries []Entry) string {
	parts := make([]string, len(entries))
	for i, e := range entries {
		parts[i] = e.String()
	}
	return array.Join(parts)
}
