// Command mutate measures what a package's tests would notice: it changes one place of the code at a
// time, in an overlay that leaves the tree alone, and runs the tests of the package.
//
//	go run ./scripts/mutate [-n 12] [-seed 1] [-v] PACKAGE...
//	go run ./scripts/mutate [-n 12] [-seed 1] [-v] -shim FILE.cc...
//
// It tries n mutants of each package, the same ones for the same seed and code; with -shim of files of
// the shim, whose mutants the tests of package torchpe must notice. A mutant that no
// test notices survives and is printed; the exit code is 1 where less than 97 % are killed. What
// cannot be noticed (the mutant computes the same) stands in equivalent.txt with the reason, as
// printed, and does not count. A mutant that does not compile gives way to the next.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// goal is the share of mutants that the tests must kill.
const goal = .97

// A mutant may allocate without end; this many bytes of addresses are enough for every test.
const addressSpace = 16 << 30

//go:embed equivalent.txt
var equivalentList string

// result tells what became of a mutant.
type result int

const (
	killed result = iota
	survived
	noMutant // it does not compile
)

// tally counts the mutants of a package.
type tally struct{ tried, killed, equivalent int }

func main() {
	each := flag.Int("n", 12, "mutants of each package")
	seed := flag.Int("seed", 1, "which mutants")
	verbose := flag.Bool("v", false, "print those that are killed too")
	cxx := flag.Bool("shim", false, "the arguments are C++ files of the shim")
	flag.Parse()
	if *cxx {
		os.Exit(mutateShim(flag.Args(), *each, *seed, *verbose))
	}
	limit := syscall.Rlimit{Cur: addressSpace, Max: addressSpace}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fatal(err)
	}
	packages, err := list(flag.Args())
	if err != nil {
		fatal(err)
	}
	var all tally
	for _, p := range packages {
		t, err := p.mutate(*each, *seed, *verbose)
		if err != nil {
			fatal(err)
		}
		all.add(p.Path, t)
	}
	os.Exit(all.report())
}

// mutateShim tries mutants of C++ files and returns the exit code.
func mutateShim(files []string, each, seed int, verbose bool) int {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary folder is emptied by others
	var all tally
	for _, f := range files {
		s, err := openShim(f, dir)
		if err != nil {
			fatal(err)
		}
		t, err := s.mutate(each, seed, verbose)
		if err != nil {
			fatal(err)
		}
		all.add(f, t)
	}
	return all.report()
}

// add adds the mutants of a package or file and prints their number.
func (t *tally) add(name string, more tally) {
	fmt.Printf("%-34s %s\n", name, more)
	t.tried += more.tried
	t.killed += more.killed
	t.equivalent += more.equivalent
}

// report prints the sum and returns the exit code.
func (t tally) report() int {
	fmt.Printf("%-34s %s\n", "all", t)
	if float64(t.killed) < goal*float64(t.tried-t.equivalent) {
		return 1
	}
	return 0
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "mutate:", err)
	os.Exit(2)
}

func (t tally) String() string {
	real := t.tried - t.equivalent
	return fmt.Sprintf("%3d of %3d killed (%.0f %%), %d equivalent", t.killed, real,
		100*float64(t.killed)/float64(max(real, 1)), t.equivalent)
}

// pkg is a package of the module.
type pkg struct {
	Path, Dir string
	Files     []string // paths from the working directory
}

// list returns the packages of the patterns that have tests.
func list(patterns []string) ([]pkg, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles"},
		patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		dir, err := filepath.Rel(here, p.Dir)
		if err != nil {
			return nil, err
		}
		next := pkg{Path: p.ImportPath, Dir: p.Dir}
		for _, f := range p.GoFiles {
			next.Files = append(next.Files, filepath.Join(dir, f))
		}
		packages = append(packages, next)
	}
}

// mutate tries n mutants of the package and prints those that survive.
func (p pkg) mutate(n, seed int, verbose bool) (t tally, err error) {
	source := map[string]string{}
	var all []mutation
	for _, f := range p.Files {
		text, err := os.ReadFile(f)
		if err != nil {
			return t, err
		}
		source[f] = string(text)
		found, err := mutations(f, source[f])
		if err != nil {
			return t, err
		}
		all = append(all, found...)
	}
	shuffle(all, seed)
	return tryEach(all, source, n, p.try, verbose)
}

// tryEach tries the first n of the mutations and prints those that survive.
func tryEach(all []mutation, source map[string]string, n int, try func(mutation, string) (result, error),
	verbose bool) (t tally, err error) {
	for _, m := range all {
		if t.tried == n {
			break
		}
		text := source[m.file]
		if isEquivalent(m) {
			t.tried++
			t.equivalent++
			continue
		}
		r, err := try(m, m.apply(text))
		switch {
		case err != nil:
			return t, err
		case r == noMutant:
			continue
		case r == killed:
			t.killed++
		}
		t.tried++
		if r == survived || verbose {
			fmt.Println([]string{"killed  ", "SURVIVED"}[r], m.describe(text))
		}
	}
	return t, nil
}

// shuffle puts the mutations into an order which depends on the seed and, for each one, on itself:
// a change of one line leaves the others in the sample.
func shuffle(all []mutation, seed int) {
	rank := func(m mutation) uint64 {
		sum := sha256.Sum256(fmt.Append(nil, seed, m))
		return binary.LittleEndian.Uint64(sum[:])
	}
	slices.SortStableFunc(all, func(a, b mutation) int { return cmp.Compare(rank(a), rank(b)) })
}

// isEquivalent reports whether equivalent.txt has the mutation.
func isEquivalent(m mutation) bool {
	return strings.Contains("\n"+equivalentList, "\n"+m.String()+"\n")
}

// try runs the package's tests with the changed file: the short ones and, where those pass, all.
func (p pkg) try(m mutation, changed string) (result, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary folder is emptied by others
	file, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	path, err := filepath.Abs(m.file)
	if err != nil {
		return 0, err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(os.WriteFile(file, []byte(changed), 0o666),
		os.WriteFile(overlay, replace, 0o666)); err != nil {
		return 0, err
	}
	binary := filepath.Join(dir, "test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, p.Path)
	if build.Run() != nil {
		return noMutant, nil
	}
	for _, short := range []string{"-test.short", "-test.short=false"} {
		test := exec.Command(binary, short, "-test.failfast", "-test.timeout=3m")
		test.Dir = p.Dir
		test.Env = append(os.Environ(), "TMPDIR="+dir)
		if test.Run() != nil {
			return killed, nil
		}
	}
	return survived, nil
}
