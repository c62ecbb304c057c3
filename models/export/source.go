package export

import (
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/models/pe"
)

// sources are the parts of the Python files: modules that import each other. One that a file needs is
// copied into it in place of the import.
//
//go:embed python/*.py
var sources embed.FS

var (
	importLine = regexp.MustCompile(`(?m)^(?:from (\w+) import .+|import .+)\n`)
	implements = regexp.MustCompile(`(?m)^@implements\((.+)\)$`)
	quoted     = regexp.MustCompile(`"([^"]+)"`)
)

func module(name string) (text string, ok bool) {
	b, err := sources.ReadFile("python/" + name + ".py")
	return string(b), err == nil
}

// modules returns the module of each encoding by the name of its scheme.
func modules() map[string]string { return modulesBy(implements) }

// modulesBy returns the modules by the names of schemes in lines that match.
func modulesBy(line *regexp.Regexp) map[string]string {
	of := map[string]string{}
	files, _ := sources.ReadDir("python")
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".py")
		text, _ := module(name)
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			for _, scheme := range quoted.FindAllStringSubmatch(found[1], -1) {
				of[scheme[1]] = name
			}
		}
	}
	return of
}

// Check returns an error where no Python part exists for an encoding, or for a part of a stack.
func Check(scheme string) error {
	of, can := modules(), []string{}
	for _, name := range pe.Names() {
		if of[name] != "" {
			can = append(can, name)
		}
	}
	for _, part := range strings.Split(scheme, "+") {
		if !slices.Contains(can, part) {
			return fmt.Errorf("encoding %s has no PyTorch part; these can be exported: %s", part,
				strings.Join(can, ", "))
		}
	}
	return nil
}

// assembly joins modules to one file.
type assembly struct {
	done    map[string]bool
	imports []string // of other libraries
	bodies  []string
}

// add appends a module after those that it imports.
func (a *assembly) add(name string) error {
	if a.done[name] {
		return nil
	}
	a.done[name] = true
	text, ok := module(name)
	if !ok {
		return fmt.Errorf("there is no python/%s.py", name)
	}
	for _, m := range importLine.FindAllStringSubmatch(text, -1) {
		if _, ours := module(m[1]); ours {
			if err := a.add(m[1]); err != nil {
				return err
			}
		} else if line := strings.TrimSpace(m[0]); !slices.Contains(a.imports, line) {
			a.imports = append(a.imports, line)
		}
	}
	a.bodies = append(a.bodies, strings.TrimSpace(importLine.ReplaceAllString(text, "")))
	return nil
}

// source returns model.py for a model, which begins with a docstring of this text.
func source(about string, c models.Config) (string, error) {
	names := append(encodingModules(strings.Split(c.PE, "+")), "transformer", taskOf(c), "load")
	return program(about, "", names)
}

// encodingModules returns the names of the modules that the encodings parts need.
func encodingModules(parts []string) []string {
	of, names := modules(), []string{"encoding"}
	for _, part := range parts {
		names = append(names, of[part])
	}
	if len(parts) > 1 {
		names = append(names, "stack")
	}
	return names
}

// program joins modules to a Python file that begins with a docstring; constants follow the imports.
func program(about, constants string, names []string) (string, error) {
	a := assembly{done: map[string]bool{}}
	for _, name := range names {
		if err := a.add(name); err != nil {
			return "", err
		}
	}
	about = strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(about)
	return fmt.Sprintf("\"\"\"%s\n\"\"\"\n\n%s%s\n\n\n%s\n", about, a.importLines(), constants,
		strings.Join(a.bodies, "\n\n\n")), nil
}

// taskOf returns the module of the task of a model.
func taskOf(c models.Config) string {
	switch {
	case c.TokenInput == models.Scalar:
		return "masked"
	case c.ReadOut == models.ReadTokens:
		return "sequences"
	}
	return "puzzles"
}

// importLines returns the imports: the standard library's, then PyTorch's.
func (a *assembly) importLines() string {
	slices.SortFunc(a.imports, func(x, y string) int {
		// "import" before "from", as is usual
		return cmp.Or(-strings.Compare(x[:1], y[:1]), strings.Compare(x, y))
	})
	var standard, torch []string
	for _, line := range a.imports {
		if strings.Contains(line, "torch") {
			torch = append(torch, line)
		} else {
			standard = append(standard, line)
		}
	}
	return strings.Join(standard, "\n") + "\n\n" + strings.Join(torch, "\n")
}
