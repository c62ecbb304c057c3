package lst

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// GeneratedFiles holds the names of the training pool and of the validation puzzles that "torchpe data lst
// generate" writes.
var GeneratedFiles = []string{"train.csv", "validation.csv"}

// publishedFiles holds the names in folder processed_data of github.com/ljhearne/LSTNN_public, in the order in
// which its code reads the pool; the validation puzzles are the last.
var publishedFiles = []string{"generated_puzzle_data_binary_dist80.csv", "generated_puzzle_data_ternary_dist80.csv",
	"generated_puzzle_data_quaternary_dist80.csv", "puzzle_data_original.csv"}

// FilesIn returns the paths of the training pool and of the validation puzzles in a folder: the published
// files, or those that "torchpe data lst generate" wrote there.
func FilesIn(dir string) (train []string, validation string, err error) {
	if about, err := os.Stat(dir); err != nil {
		return nil, "", err
	} else if !about.IsDir() {
		return nil, "", fmt.Errorf("%s is a file; want the folder that holds files of puzzles", dir)
	}
	var lacks string
	for _, names := range [][]string{GeneratedFiles, publishedFiles} {
		paths := make([]string, len(names))
		lacks = ""
		for i, name := range names {
			paths[i] = filepath.Join(dir, name)
			switch _, err := os.Stat(paths[i]); {
			case errors.Is(err, fs.ErrNotExist):
				lacks = cmp.Or(lacks, name)
			case err != nil:
				return nil, "", err
			}
		}
		if last := len(paths) - 1; lacks == "" {
			return paths[:last], paths[last], nil
		}
	}
	return nil, "", fmt.Errorf("%s lacks %s of the published puzzles; those of torchpe data lst generate are %s and "+
		"%s; for others: torchpe train --lst-train FILE --lst-validation FILE", dir, lacks, GeneratedFiles[0],
		GeneratedFiles[1])
}
