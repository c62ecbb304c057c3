package series

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// extensions lists the extensions of files that are read from a folder.
var extensions = []string{".nii", ".nii.gz", ".h5", ".hdf5", ".mat", ".npy", ".npz", ".csv", ".tsv",
	".1d", ".txt"}

// described is the additional extension that descriptions accept in a folder.
const described = ".safetensors"

// extensionOf returns the extension of a file in lower case, for a compressed file with the one
// before it, such as .nii.gz.
func extensionOf(name string) string {
	name = strings.ToLower(name)
	extension := filepath.Ext(name)
	if extension == ".gz" {
		extension = filepath.Ext(strings.TrimSuffix(name, extension)) + extension
	}
	return extension
}

// Files lists the files that paths name. A folder stands for the files in and below it whose name
// matches pattern (such as *_Atlas.ptseries.nii), in the order of their paths. Without a pattern
// all readable files of a folder must have one extension. Files ending in .txt are then ignored if
// there are as many others, because notes and licences have this extension too; so are folders of runs,
// sweeps and reports. namesFile and modulesFile are not series. A file that is named twice is an
// error, because it would count as two runs. Hidden folders are ignored, and hidden files unless
// pattern starts with a dot.
func Files(paths []string, pattern string) ([]string, error) {
	files, err := listFiles(paths, pattern, false)
	for _, file := range files {
		if !utf8.ValidString(file) {
			return nil, fmt.Errorf("%q: the path is not UTF-8, so results could not name it: rename it", file)
		}
	}
	return files, err
}

// listFiles lists files as Files does. With anyKind a folder may contain files of several kinds.
func listFiles(paths []string, pattern string, anyKind bool) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("--pattern %q: %w", pattern, err)
	}
	var files []string
	hasFolder := false
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if err := array.CheckRegular(path, info); err != nil {
				return nil, err
			}
			files = append(files, path)
			continue
		}
		hasFolder = true
		found, err := inFolder(path, pattern, anyKind)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if pattern != "" && !hasFolder {
		return nil, fmt.Errorf("--pattern %q chooses files of a folder, but only files are given: leave it out",
			pattern)
	}
	return files, checkDistinct(files)
}

// checkDistinct returns an error if two paths lead to the same file.
func checkDistinct(files []string) error {
	first := make(map[string]string, len(files))
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err == nil {
			full, err = filepath.EvalSymlinks(full)
		}
		if err != nil {
			return err
		}
		if before, twice := first[full]; twice {
			as := ""
			if before != file {
				as = fmt.Sprintf(" (as %s too)", before)
			}
			return fmt.Errorf("%s: this file is given twice%s and would count as two runs: "+
				"give it once", file, as)
		}
		first[full] = file
	}
	return nil
}

// madeHere lists files that identify the folders of runs, sweeps and reports.
var madeHere = []string{"environment.json", "sweep.json", ".made", "report.json"}

// isMade reports whether a folder is a run, a sweep or a report.
func isMade(folder string) bool {
	return slices.ContainsFunc(madeHere, func(name string) bool {
		_, err := os.Lstat(filepath.Join(folder, name))
		return err == nil
	})
}

func inFolder(folder, pattern string, anyKind bool) ([]string, error) {
	var made []string                    // folders with results
	byExtension := map[string][]string{} // all under "" if there is a pattern
	// With the slash, links to folders are followed.
	err := filepath.WalkDir(folder+"/", func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != folder+"/" && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() { // such as .ipynb_checkpoints, with copies
				return fs.SkipDir
			}
			if !strings.HasPrefix(pattern, ".") {
				return nil
			}
		}
		if err == nil && d.IsDir() && pattern == "" && isMade(p) {
			made = append(made, p)
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || d.Name() == namesFile || d.Name() == modulesFile {
			return err
		}
		extension := extensionOf(d.Name())
		if pattern != "" {
			if ok, _ := filepath.Match(pattern, d.Name()); ok {
				byExtension[""] = append(byExtension[""], p)
			}
		} else if slices.Contains(extensions, extension) || anyKind && extension == described {
			byExtension[extension] = append(byExtension[extension], p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if anyKind && len(byExtension) > 0 {
		all := slices.Concat(slices.Collect(maps.Values(byExtension))...)
		slices.Sort(all)
		return all, nil
	}
	others := 0
	for extension, of := range byExtension {
		if extension != ".txt" {
			others += len(of)
		}
	}
	if len(byExtension[".txt"]) <= others { // such as a licence
		delete(byExtension, ".txt")
	}
	kinds := slices.Sorted(maps.Keys(byExtension))
	switch {
	case len(kinds) == 1:
		return byExtension[kinds[0]], nil
	case len(kinds) > 1:
		var counts []string
		for _, k := range kinds {
			counts = append(counts, fmt.Sprintf("%d %s", len(byExtension[k]), k))
		}
		return nil, fmt.Errorf("%s: this folder has files of several kinds (%s): choose with "+
			"--pattern, such as --pattern '*%s'", folder, strings.Join(counts, ", "), kinds[0])
	case pattern != "":
		return nil, fmt.Errorf("%s: no file in this folder has a name that matches %q",
			folder, pattern)
	}
	left := ""
	if made != nil {
		left = "; output of torchpe (" + wording.List(3, made) + ") is ignored: --pattern '*.csv' reads it, too"
	}
	return nil, fmt.Errorf("%s: no file in this folder has an extension that can be read (%s)%s",
		folder, strings.Join(extensions, ", "), left)
}
