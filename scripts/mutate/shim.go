package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// shimDir has the C++ of the shim; torchpeDir the tests that hold its loops against other forms.
const (
	shimDir    = "torchpe/internal/ctorch/shim"
	torchpeDir = "torchpe"
)

// shim is a file of the shim, whose mutants are compiled and linked with the objects that `make shim`
// left.
type shim struct {
	file   string // its name in shimDir
	build  string // CMake's folder
	object string // of the file, in the build folder
	tests  string // the program of the tests
}

// openShim finds what CMake says of a file, and builds the tests into dir.
func openShim(file, dir string) (*shim, error) {
	builds, err := filepath.Glob(".build/shim*/CMakeFiles/torchpe.dir/link.txt")
	if err != nil || len(builds) != 1 {
		return nil, fmt.Errorf("%d builds of the shim: run `make shim`, with one libtorch (%w)", len(builds), err)
	}
	s := &shim{file: file, build: filepath.Join(filepath.Dir(builds[0]), "../.."),
		object: "CMakeFiles/torchpe.dir/" + file + ".o", tests: filepath.Join(dir, "torchpe.test")}
	if file == "kernels.cc" { // compiled for each instruction set: the one that this machine runs
		s.object = "CMakeFiles/kernels_" + instructionSet() + ".dir/kernels.cc.o"
	}
	if out, err := exec.Command("go", "test", "-c", "-o", s.tests, "./"+torchpeDir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return s, nil
}

// instructionSet returns the name of the loops that this machine runs.
func instructionSet() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	switch {
	case err == nil && strings.Contains(string(text), " avx512vl"):
		return "avx512"
	case err == nil && strings.Contains(string(text), " avx2 "):
		return "avx2"
	}
	return "generic"
}

// mutate tries n mutants of the file and prints those that survive.
func (s *shim) mutate(n, seed int, verbose bool) (tally, error) {
	path := filepath.Join(shimDir, s.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return tally{}, err
	}
	all := cxxMutations(path, string(text))
	shuffle(all, seed)
	return trial{map[string]string{path: string(text)}, s.try, verbose}.first(n, all)
}

// try compiles the changed file, links it with the rest, and runs the tests of package torchpe: the
// twins and, where those pass, all.
func (s *shim) try(_ mutation, changed string) (result, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary folder is emptied by others
	flags, err := os.ReadFile(filepath.Join(s.build, filepath.Dir(s.object), "flags.make"))
	if err != nil {
		return 0, err
	}
	link, err := os.ReadFile(filepath.Join(s.build, "CMakeFiles/torchpe.dir/link.txt"))
	if err != nil {
		return 0, err
	}
	source, err := filepath.Abs(shimDir)
	if err != nil {
		return 0, err
	}
	mutant, object := filepath.Join(dir, s.file), filepath.Join(dir, "mutant.o")
	if err := os.WriteFile(mutant, []byte(changed), 0o666); err != nil {
		return 0, err
	}
	command := "c++"
	for line := range strings.Lines(string(flags)) {
		if name, value, found := strings.Cut(line, " ="); found && strings.HasPrefix(name, "CXX_") {
			command += " " + strings.TrimSpace(value)
		}
	}
	command += fmt.Sprintf(" -w -I%s -ffile-prefix-map=%s=%s -o %s -c %s", source, dir, source, object, mutant)
	command += fmt.Sprintf(" && ! cmp -s %s %s && ", object, s.object) // the same code is no mutant
	command += strings.NewReplacer("-o libtorchpe.so", "-o "+filepath.Join(dir, "libtorchpe.so"),
		s.object, object).Replace(string(link))
	compile := exec.Command("bash", "-c", command)
	compile.Dir = s.build
	if compile.Run() != nil {
		return noMutant, nil
	}
	for _, which := range []string{"Fused|Twins|Linear|LayerNorm|Rotate|Attention|GELU|Optimizers|Adam|Dropout", "."} {
		test := exec.Command(s.tests, "-test.run="+which, "-test.failfast", "-test.timeout=4m")
		test.Dir, test.Env = torchpeDir, append(os.Environ(), "LD_LIBRARY_PATH="+dir)
		var exit *exec.ExitError
		if err := test.Run(); errors.As(err, &exit) {
			return killed, nil
		} else if err != nil {
			return 0, err
		}
	}
	return survived, nil
}

// cxxSwaps are the operators of C++ that stand in for each other, with the spaces that clang-format
// puts around them, which tells them from signs, pointers and templates.
var cxxSwaps = map[string]string{"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "*=": "+=",
	"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}

var (
	cxxOperator  = regexp.MustCompile(` ([-+*/]=?|[<>]=?|[=!]=|&&|\|\|) `)
	cxxNumber    = regexp.MustCompile(`\b\d+(\.\d*)?(e-?\d+)?[fF]?\b`)
	cxxText      = regexp.MustCompile(`"[^"]*"`)
	cxxStatement = regexp.MustCompile(`^ +([\w.\[\]]|->|\+ )+ [-+*]?= [^{]*;$`)
	cxxFunction  = regexp.MustCompile(`^[\w].*?(\w+)\(`)
	cxxIgnored   = regexp.MustCompile(`^\s*(#|//|template|using|typedef|static_assert|TORCH_CHECK|namespace)`)
)

// cxxMutations returns the mutations of a file of C++, in its order: an operator for its neighbour, a
// number for another, an assignment for none. Loops keep their bounds, or they write beside arrays.
func cxxMutations(path, source string) (all []mutation) {
	function, at := "", 0
	for line := range strings.Lines(source) {
		code, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  //")
		if m := cxxFunction.FindStringSubmatch(code); m != nil {
			function = m[1]
		}
		if !cxxIgnored.MatchString(code) && !strings.Contains(code, "for (") {
			blank := cxxText.ReplaceAllStringFunc(code, func(s string) string { return strings.Repeat("_", len(s)) })
			for _, c := range cxxChanges(blank) {
				all = append(all, mutation{path, function, at + c.from, at + c.to, c.text,
					strings.TrimSpace(code) + " => " + strings.TrimSpace(code[:c.from]+c.text+code[c.to:])})
			}
		}
		at += len(line)
	}
	return all
}

// cxxChange puts text in place of a part of a line.
type cxxChange struct {
	from, to int
	text     string
}

func cxxChanges(code string) (all []cxxChange) {
	for _, m := range cxxOperator.FindAllStringSubmatchIndex(code, -1) {
		if other, ok := cxxSwaps[code[m[2]:m[3]]]; ok {
			all = append(all, cxxChange{m[2], m[3], other})
		}
	}
	for _, m := range cxxNumber.FindAllStringIndex(code, -1) {
		number := code[m[0]:m[1]]
		if n, err := strconv.Atoi(number); err == nil && n < 16 {
			all = append(all, cxxChange{m[0], m[1], strconv.Itoa(n + 1)})
		} else if err == nil { // of a large one the next may be within the rounding
			all = append(all, cxxChange{m[0], m[1], strconv.Itoa(2 * n)})
		} else {
			all = append(all, cxxChange{m[0], m[1], "(1.01f * " + number + ")"})
		}
	}
	if cxxStatement.MatchString(code) {
		all = append(all, cxxChange{len(code) - len(strings.TrimLeft(code, " ")), len(code), ";"})
	}
	return all
}
