package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"torchpe/data/array"
	"torchpe/data/array/text"
)

// Files that "torchpe data hcp convert" writes beside its .npy files, which contain neither names
// nor modules.
const (
	namesFile   = "names.txt"   // names of the tokens, one per line
	modulesFile = "modules.csv" // names and modules
)

// converted matches the names of convert's files. namesFile does not apply to other .npy files in
// its folder.
var converted = regexp.MustCompile(`^sub-[A-Za-z0-9]+_run-[0-9]+\.npy$`)

// runNumber finds the number of a run in the name of a file or dataset.
var runNumber = regexp.MustCompile(`(?i)(?:^|[^a-z])run[-_]?0*([0-9]{1,9})`)

// convertedName returns the name of the file that convert writes for the run with this number, from
// 1, of a subject.
func convertedName(subject string, run int) string {
	return fmt.Sprintf("sub-%s_run-%d.npy", subject, run)
}

// isConverted reports whether a file has a name of the form that convert uses.
func isConverted(file string) bool { return converted.MatchString(filepath.Base(file)) }

// namesBeside returns the names of the tokens of a file written by convert, and the file with the
// names; nothing if there is no such file.
func namesBeside(file string) (names []string, from string) {
	if !isConverted(file) {
		return nil, ""
	}
	from = filepath.Join(filepath.Dir(file), namesFile)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	names, err := readNames(from, text.No)
	if err != nil {
		array.Failf("%s: the names of its tokens: %w: correct this file, or give it another "+
			"name if it is not theirs", file, err)
	}
	return names, from
}

// modulesBeside returns the file with the modules that convert wrote beside series, or "".
func modulesBeside(files []string) (string, error) {
	var found string
	var content string
	var folders []string
	for _, file := range files {
		folder := filepath.Dir(file)
		if !isConverted(file) || slices.Contains(folders, folder) {
			continue
		}
		folders = append(folders, folder)
		path := filepath.Join(folder, modulesFile)
		b, err := array.ReadText(path, maxNamesBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case found == "":
			found, content = path, b
		case b != content:
			return "", fmt.Errorf(
				"%s and %s lie beside the series and differ: choose one with --modules", found, path)
		}
	}
	return found, nil
}

// maxNamesBytes is the largest size of a list of names or modules.
const maxNamesBytes = 64 << 20

// checkOneColumn returns an error if all names contain a separator: they are then rows of a table.
func checkOneColumn(names []string, path string) error {
	for _, separator := range []string{",", ";", "\t"} {
		if !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(name, separator) }) {
			return fmt.Errorf("%s: all of its lines contain %q, such as %q: give one name per line and "+
				"nothing else", path, separator, names[0])
		}
	}
	return nil
}

// readNames reads one name per line, below the first line if that is a header. Unless quoted, a
// first line that may be a heading and a line that looks like a comment are errors.
func readNames(path string, header text.Choice) ([]string, error) {
	b, err := array.ReadText(path, maxNamesBytes)
	if err != nil {
		return nil, err
	}
	if strings.IndexByte(b, 0) >= 0 {
		return nil, fmt.Errorf("%s: a NUL byte: not a UTF-8 text", path)
	}
	var names []string
	for line := range strings.SplitSeq(norm.NFC.String(strings.TrimPrefix(b, "\ufeff")), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case line[0] == '#' || line[0] == '%':
			return nil, fmt.Errorf("%s: the line %s is a comment by its first character: put quotes around it if "+
				"it is a name, or delete it", path, array.Quote(line))
		case len(names) == 0 && header == text.Auto && text.IsID(line):
			return nil, fmt.Errorf("%s: its first line, %s, may be a heading or a name: give --header yes or "+
				"--header no", path, array.Quote(line))
		}
		if n := len(line); n > 1 && line[0] == '"' && line[n-1] == '"' {
			line = line[1 : n-1]
		}
		names = append(names, line)
	}
	if header == text.Yes && len(names) > 0 {
		names = names[1:]
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%s: %d names; one per line, and at least two, are needed",
			path, len(names))
	}
	return names, checkUnique(names, path)
}
