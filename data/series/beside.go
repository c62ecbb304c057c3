package series

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// What "torchpe data hcp convert" writes beside its .npy files, which hold neither names nor modules.
const (
	NamesFile   = "names.txt"   // names of the tokens, one a line
	ModulesFile = "modules.csv" // names and modules
)

// converted are the names of convert's files. NamesFile is not taken for that of other .npy files, which happen to lie beside it.
var converted = regexp.MustCompile(`^sub-[A-Za-z0-9]+_run-[0-9]+\.npy$`)

// ConvertedName returns the name of the file that convert writes for the run with this number, from 1, of a subject.
func ConvertedName(subject string, run int) string {
	return fmt.Sprintf("sub-%s_run-%d.npy", subject, run)
}

// IsConverted says whether a file is called as convert calls its own.
func IsConverted(file string) bool { return converted.MatchString(filepath.Base(file)) }

// namesBeside returns the names of the tokens of a file of convert's, and the file that holds them; none where there is no such file.
func namesBeside(file string) (names []string, from string, err error) {
	if !IsConverted(file) {
		return nil, "", nil
	}
	from = filepath.Join(filepath.Dir(file), NamesFile)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	names, err = readNames(from)
	if err != nil {
		err = fmt.Errorf("%s: the names of its tokens: %w: mend this file, or give it another name if it is not theirs", file, err)
	}
	return names, from, err
}

// modulesBeside returns the file with the modules that convert wrote beside series, or nothing.
func modulesBeside(files []string) (string, error) {
	var found string
	var content []byte
	var folders []string
	for _, file := range files {
		folder := filepath.Dir(file)
		if !IsConverted(file) || slices.Contains(folders, folder) {
			continue
		}
		folders = append(folders, folder)
		path := filepath.Join(folder, ModulesFile)
		b, err := readWhole(path, maxNamesBytes)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case found == "":
			found, content = path, b
		case !bytes.Equal(b, content):
			return "", fmt.Errorf("%s and %s lie beside the series and differ: say which with --modules", found, path)
		}
	}
	return found, nil
}

// maxNamesBytes is the longest list of names or modules that is read.
const maxNamesBytes = 64 << 20

// readNames reads one name a line.
func readNames(path string) ([]string, error) {
	b, err := readWhole(path, maxNamesBytes)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.SplitSeq(strings.TrimPrefix(string(b), "\ufeff"), "\n") {
		if line = strings.Trim(strings.TrimSpace(line), `"`); line != "" {
			names = append(names, line)
		}
	}
	if len(names) < 2 {
		return nil, fmt.Errorf("%s: %d names; one a line, and at least two, are needed", path, len(names))
	}
	return names, unique(names, path)
}

// readWhole reads a regular file of at most so many bytes: opening a named pipe would wait for a writer.
func readWhole(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes", path, most)
	}
	return os.ReadFile(path)
}
