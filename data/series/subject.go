package series

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"torchpe/data/array"
	"torchpe/internal/wording"
)

// Patterns that find subjects in the names of files, in this order.
var subjectParts = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[^a-zA-Z])sub-([A-Za-z0-9]+)`),  // BIDS
	regexp.MustCompile(`(?:^|[^0-9])([0-9]{6})(?:[^0-9]|$)`), // HCP
}

// Names of folders that hold the files of one subject. Six digits alone may be a date or a job number.
var (
	bidsFolder = regexp.MustCompile(`^sub-([A-Za-z0-9]+)$`)
	sixDigits  = regexp.MustCompile(`^[0-9]{6}$`)
	hcpInside  = []string{"MNINonLinear", "T1w", "unprocessed", "MEG"} // subfolders of HCP's subjects
)

// ParseSubjectPattern compiles a regular expression whose one group finds the subject in the path of a file.
func ParseSubjectPattern(text string) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	if n := pattern.NumSubexp(); n != 1 {
		return nil, fmt.Errorf("%q has %s: put the part of the path that is the subject, and no "+
			"other, in parentheses, such as 'rest/([^/]+)/'; (?:...) groups without being one", text,
			wording.Count(n, "group"))
	}
	return pattern, nil
}

// subjectFinder finds the subjects of files: in the table if it has a column of files, else by the
// pattern, else in the path. Either may be nil.
type subjectFinder struct {
	table   *subjects
	pattern *regexp.Regexp
}

// found is a subject with its origin.
type found struct {
	subject string
	by      origin
}

// origin says where a subject was found.
type origin int

// The origins. Those after byName require a look at the folders of files.
const (
	byTable origin = iota
	byPattern
	byName   // sub- in the name of the file
	byNumber // six digits in the name of the file
	byFolder // in the name of the nearest parent folder
	byStem   // the whole name of the file
	byRow    // a row of the table without a folder
)

// inPath finds the subject in the path of a file: what follows "sub-" in its name, as in BIDS; else
// six digits there, as in HCP's numbers of subjects; else the nearest parent folder called sub-NAME
// or with HCP's layout 100307/MNINonLinear/Results; else the whole name without its extension.
func inPath(file string) found {
	base := norm.NFC.String(filepath.Base(file))
	for i, part := range subjectParts {
		if m := part.FindStringSubmatch(base); m != nil {
			return found{m[1], byName + origin(i)}
		}
	}
	if subject := folderOf(file, true); subject != "" {
		return found{subject, byFolder}
	}
	name := base
	if extension := extensionOf(base); slices.Contains(extensions, extension) {
		name = base[:len(base)-len(extension)]
	}
	for _, kind := range []string{".ptseries", ".dtseries"} {
		name = strings.TrimSuffix(name, kind)
	}
	return found{name, byStem}
}

// folderOf returns the subject named by the nearest parent folder of a file, by BIDS or, with hcp,
// also by HCP's layout, or "".
func folderOf(file string, hcp bool) string {
	inside := ""
	for _, folder := range slices.Backward(foldersOf(file)) {
		if m := bidsFolder.FindStringSubmatch(folder); m != nil {
			return m[1]
		}
		if hcp && sixDigits.MatchString(folder) && slices.Contains(hcpInside, inside) {
			return folder
		}
		inside = folder
	}
	return ""
}

// foldersOf lists the parent folders of a file, from the root.
func foldersOf(file string) []string {
	full, err := filepath.Abs(file)
	if err != nil {
		full = file
	}
	return parts(filepath.Dir(full))
}

// parts splits a path into the names of its folders and its file, in Unicode's form NFC as tables have them.
func parts(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(norm.NFC.String(path)), func(r rune) bool { return r == '/' })
}

// of returns the subject of each file by its path, with notes on how they were found. Files that
// would become one subject by chance are an error.
func (f subjectFinder) of(files []string) (map[string]string, []string, error) {
	all := make(map[string]found, len(files))
	for _, file := range files {
		one, err := f.one(file, files)
		if err != nil {
			return nil, nil, err
		}
		all[file] = one
	}
	err := cmp.Or(f.rename(files, all), checkApart(files, all))
	if f.table == nil {
		err = cmp.Or(err, checkRuns(files, all))
	}
	if err != nil {
		return nil, nil, err
	}
	names := make(map[string]string, len(files))
	var byFolders, subjects, numbered []string
	for _, file := range files {
		names[file] = all[file].subject
		if all[file].by == byStem {
			for _, folder := range foldersOf(file) {
				if sixDigits.MatchString(folder) && !slices.Contains(numbered, folder) {
					numbered = append(numbered, folder)
				}
			}
		}
		if all[file].by == byFolder {
			byFolders = append(byFolders, file)
			if !slices.Contains(subjects, all[file].subject) {
				subjects = append(subjects, all[file].subject)
			}
		}
	}
	notes := slices.Concat(notesOnNumbers(files, all), notesOnStems(files, all), f.notesOnRows(files))
	if len(numbered) > 1 {
		notes = append(notes, fmt.Sprintf("folders such as %s and %s do not count as subjects, because HCP's "+
			"contain %s, and each file counts as a subject of its own: if the folders are subjects, "+
			"give --subject-pattern '/([0-9]{6})/'.",
			numbered[0], numbered[1], strings.Join(hcpInside[:2], " or ")))
	}
	if byFolders == nil {
		return names, notes, nil
	}
	return names, append(notes, fmt.Sprintf("%s of %s are named by folders, such as %s for %s; "+
		"--subjects or --subject-pattern can change this.", wording.Count(len(subjects), "subject"),
		wording.Count(len(byFolders), "file"), subjects[0], byFolders[0])), nil
}

// one finds the subject of one of the files.
func (f subjectFinder) one(file string, files []string) (found, error) {
	if f.table != nil {
		if name, row := f.table.ofFile(file, files); row != "" {
			if filepath.Base(row) == row {
				return found{name, byRow}, nil
			}
			return found{name, byTable}, nil
		}
	}
	one := inPath(file)
	if f.pattern != nil {
		full, err := filepath.Abs(file)
		if err != nil {
			return found{}, err
		}
		m := f.pattern.FindStringSubmatch(filepath.ToSlash(norm.NFC.String(full)))
		if m == nil || m[1] == "" {
			return found{}, fmt.Errorf("--subject-pattern %q finds no subject in %s: correct it, or "+
				"leave this file out", f.pattern, full)
		}
		one = found{m[1], byPattern}
	}
	return one, nil
}

// rename gives the subjects from paths the names of the table. Two of them stay two: it may have 1 for 01, but not
// for 01 and 1.
func (f subjectFinder) rename(files []string, all map[string]found) error {
	first := map[string][2]string{} // by the table's name: a file and its subject by its path
	for _, file := range files {
		one := all[file]
		if f.table == nil || one.by == byTable || one.by == byRow {
			continue
		}
		name := f.table.known(one.subject)
		before, seen := first[name]
		if seen && before[1] != one.subject {
			return fmt.Errorf("%s: %q, of whom there is %s, and %q, of %s, would both be its subject %q: write "+
				"each as the paths do, or say in a column file whose the files are", f.table.File, before[1],
				before[0], one.subject, file, name)
		}
		first[name] = [2]string{file, one.subject}
		one.subject = name
		all[file] = one
	}
	return nil
}

// checkApart returns an error if two files in different folders would belong to one subject only
// because they have the same name. This happens if the subject is the whole name of the file, or if
// it is a number in the name, which may be a date, and the folders name different subjects.
func checkApart(files []string, all map[string]found) error {
	type alike struct {
		found
		name string // of the file, if a row of the table gives the subject
	}
	first := map[alike]string{}
	for _, file := range files {
		one := alike{found: all[file]}
		switch one.by {
		case byRow:
			one.name = filepath.Base(file)
			if by := inPath(file).by; by == byName || by == byNumber { // the name contains a subject, too
				continue
			}
		case byStem, byNumber:
		default:
			continue
		}
		before, seen := first[one]
		if !seen {
			first[one] = file
			continue
		}
		if filepath.Dir(before) == filepath.Dir(file) ||
			one.by == byNumber && folderOf(before, false) == folderOf(file, false) {
			continue
		}
		return fmt.Errorf("%s and %s would be one subject, %q, because their names are alike: give "+
			"their subjects with --subject-pattern, a regular expression on the path with one group "+
			"such as 'rest/([^/]+)/', or with --subjects, a table whose column file has the end of "+
			"each path", before, file, array.Printable(one.subject))
	}
	return nil
}

// runWords are the words before the number of a run in the name of a file.
const runWords = `(?:run|ses|session|scan|rest|task|visit|day|block|trial)`

// numberedRun matches the name of a file that is one of several runs: a number, behind the subject or alone, or
// HCP's direction of the scan. anyRun matches the number of a run anywhere in a name.
var (
	numberedRun = regexp.MustCompile(`(?i)^(?:(.+?)[-_.])?(` + runWords + `)[-_.]?[0-9]+|^(.+?)[-_.](?:lr|rl|ap|pa)$`)
	anyRun      = regexp.MustCompile(`(?i)` + runWords + `[-_.]?[0-9]+`)
	anyDigits   = regexp.MustCompile(`[0-9]+`)
)

// notesOnRows names the files that rows of the table are taken for although their folders differ.
func (f subjectFinder) notesOnRows(files []string) (notes []string) {
	if f.table == nil {
		return nil
	}
	for _, file := range files {
		_, row := f.table.ofFile(file, files)
		full := append(foldersOf(file), parts(filepath.Base(file))...)
		if row != "" && !strings.HasSuffix("/"+strings.Join(full, "/"), "/"+row) {
			notes = append(notes, fmt.Sprintf("%s: its row %s is taken for %s, because no other row or file has this "+
				"name.", f.table.File, row, file))
		}
	}
	return notes
}

// commonWords are words in names of files that name no subject: HCP's, and those of runs.
var commonWords = strings.Fields("rfmri tfmri fmri bold rest wm motor gambling language social relational emotion " +
	"lr rl ap pa atlas msmall hp clean vn run ses session task sub visit scan day")

var anyLetters = regexp.MustCompile(`\pL+`)

// notesOnNumbers says which files count as one subject by six digits in their names if other digits than those of
// runs, or words, differ: these may be the subjects, and the six digits a date or a study.
func notesOnNumbers(files []string, all map[string]found) (notes []string) {
	others := func(file string) string {
		name := anyRun.ReplaceAllString(filepath.Base(file), "")
		rest := anyDigits.FindAllString(name, -1)
		name, _, _ = strings.Cut(name, ".")
		for _, word := range anyLetters.FindAllString(strings.ToLower(name), -1) {
			if !slices.Contains(commonWords, word) {
				rest = append(rest, word)
			}
		}
		return strings.Join(rest, " ")
	}
	first := map[string]string{}
	noted := map[string]bool{}
	for _, file := range files {
		one := all[file]
		if one.by != byNumber || noted[one.subject] {
			continue
		}
		before, seen := first[one.subject]
		if !seen {
			first[one.subject] = file
		} else if others(before) != others(file) {
			noted[one.subject] = true
			notes = append(notes, fmt.Sprintf("%s and %s count as one subject, %s, by the six digits in their names: "+
				"if these are a date or a study, give --subject-pattern.", before, file, one.subject))
		}
	}
	return notes
}

// twoNumbers matches names of a subject and a run without anything between, as S001R01.
var twoNumbers = regexp.MustCompile(`^(\pL+[0-9]+)\pL+[0-9]+$`)

// notesOnStems notes files that count as subjects by their whole names although several begin alike, as sub01_rest and
// sub01_task, S001R01 and S001R02, or anna_pre and anna_post. ctrl_01 and ctrl_02 are two.
func notesOnStems(files []string, all map[string]found) []string {
	first := map[string]string{}
	pair, pattern := "", ""
	for _, file := range files {
		at, own := strings.IndexAny(all[file].subject, "-_."), "[^-_./]+"
		if m := twoNumbers.FindStringSubmatch(all[file].subject); m != nil {
			at, own = len(m[1]), "[A-Za-z]+[0-9]+"
		}
		if all[file].by != byStem || at < 0 {
			continue
		}
		begin, end := all[file].subject[:at], all[file].subject[at:]
		if !anyDigits.MatchString(begin) && anyDigits.MatchString(end) {
			continue
		}
		if before, seen := first[begin]; seen && pair == "" {
			pair, pattern = fmt.Sprintf("%s and %s", all[before].subject, all[file].subject), own
		}
		first[begin] = cmp.Or(first[begin], file)
	}
	if pair == "" || len(first) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("Files count as subjects by their whole names: %s are two. If they are of one, give "+
		"--subject-pattern '/(%s)[^/]*$'.", pair, pattern)}
}

// checkRuns returns an error if names of files that count as whole subjects differ in the number or
// direction of a run: runs of one subject could then be in both training and test data.
func checkRuns(files []string, all map[string]found) error {
	first := map[string]string{}
	for _, file := range files {
		m := numberedRun.FindStringSubmatch(all[file].subject)
		if all[file].by != byStem || m == nil {
			continue
		}
		subject, run := m[1]+m[3], cmp.Or(m[2], "(?:LR|RL|AP|PA)[.]")
		before, seen := first[subject]
		if !seen {
			first[subject] = file
		} else if all[before].subject != all[file].subject && subject == "" {
			return fmt.Errorf("%s and %s: do these belong to one subject, or to two? For one, which the folder "+
				`names, give --subject-pattern '/([^/]+)/[^/]*$', for two --subject-pattern '/([^/]+)[.][^/]*$'`,
				before, file)
		} else if all[before].subject != all[file].subject {
			return fmt.Errorf("%s and %s: do these belong to one subject, or to two? For one give "+
				`--subject-pattern '(?i)/([^/]+?)[-_.]%s', for two --subject-pattern '/([^/]+)[.][^/]*$'`,
				before, file, run)
		}
	}
	return nil
}
