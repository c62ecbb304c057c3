package export

import (
	"cmp"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"torchpe/models"
	"torchpe/models/arch"
)

// sources are the parts of the Python files. Those in library contain classes and functions, of
// which a file gets the ones that it uses; the others are copied whole.
//
//go:embed python/*.py
var sources embed.FS

// library is ordered so that each file needs only those before it.
var library = []string{"weights", "encoding", "rotations", "biases", "contents", "tables", "graphs", "stack"}

var (
	importLine = regexp.MustCompile(`(?m)^(?:from (\w+) import|import) .*?(\w+)\n`)
	implements = regexp.MustCompile(`(?m)^@implements\((.+)\)$`)
	quoted     = regexp.MustCompile(`"([^"]+)"`)
	defined    = regexp.MustCompile(`(?m)^(?:def |class )?(\w+)`)
	docstring  = regexp.MustCompile(`(?s)""".*?"""|#[^\n]*`)
	identifier = regexp.MustCompile(`(?:^|[^.\w])(\w+)`)
)

// block is a top-level statement of a Python file.
type block struct {
	name    string
	text    string
	schemes []string // implemented schemes
}

// blocksOf returns the statements of a file, which are separated by two empty lines, and its import lines.
func blocksOf(file string) (all []block, imports []string) {
	text, _ := sources.ReadFile("python/" + file + ".py")
	imports = importLine.FindAllString(string(text), -1)
	body := strings.TrimSpace(importLine.ReplaceAllString(string(text), ""))
	for _, part := range strings.Split(body, "\n\n\n") {
		b := block{text: part}
		if m := implements.FindStringSubmatch(part); m != nil {
			for _, scheme := range quoted.FindAllStringSubmatch(m[1], -1) {
				b.schemes = append(b.schemes, scheme[1])
			}
		}
		b.name = defined.FindStringSubmatch(implements.ReplaceAllString(part, ""))[1]
		all = append(all, b)
	}
	return all, imports
}

// program joins the classes of an encoding's parts, everything that they use, and whole files to a
// Python file that starts with a docstring; constants follow the imports.
func program(about, constants string, parts []part, files ...string) string {
	var schemes []string
	for _, p := range parts {
		schemes = append(schemes, p.Scheme)
		if p.Label != "" {
			schemes = append(schemes, "+")
		}
	}
	var known, roots []block
	var imports, bodies []string
	for _, file := range library {
		blocks, lines := blocksOf(file)
		known, imports = append(known, blocks...), append(imports, lines...)
	}
	for _, file := range files {
		blocks, lines := blocksOf(file)
		roots, imports = append(roots, blocks...), append(imports, lines...)
	}
	used := map[string]bool{}
	for _, b := range roots {
		addNames(used, b.text)
	}
	wanted := func(b block) bool {
		return used[b.name] || slices.ContainsFunc(b.schemes, func(scheme string) bool {
			return slices.Contains(schemes, scheme)
		})
	}
	for before := -1; before != len(used); { // until nothing more is used
		before = len(used)
		for _, b := range known {
			if wanted(b) {
				addNames(used, b.text)
			}
		}
	}
	for _, b := range append(slices.DeleteFunc(known, func(b block) bool { return !wanted(b) }), roots...) {
		bodies = append(bodies, b.text)
	}
	about = strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(about)
	return fmt.Sprintf("\"\"\"%s\n\"\"\"\n\n%s%s\n\n\n%s\n", about, importLines(imports, used), constants,
		strings.Join(bodies, "\n\n\n"))
}

func addNames(used map[string]bool, code string) {
	for _, m := range identifier.FindAllStringSubmatch(docstring.ReplaceAllString(code, " "), -1) {
		used[m[1]] = true
	}
}

// taskOf returns the file for the task of a model.
func taskOf(c models.Config) string {
	switch {
	case c.TokenInput == arch.Scalar:
		return "masked"
	case c.ReadOut == arch.ReadTokens:
		return "sequences"
	}
	return "puzzles"
}

// importLines returns the imports of other libraries that are used: first those of the standard
// library, then of PyTorch.
func importLines(lines []string, used map[string]bool) string {
	slices.SortFunc(lines, func(x, y string) int {
		// "import" before "from", as usual
		return cmp.Or(-strings.Compare(x[:1], y[:1]), strings.Compare(x, y))
	})
	var standard, torch []string
	for _, line := range slices.Compact(lines) {
		m := importLine.FindStringSubmatch(line)
		_, err := sources.ReadFile("python/" + m[1] + ".py")
		switch line = strings.TrimSpace(line); {
		case err == nil || !used[m[2]]: // ours, or not used
		case strings.Contains(line, "torch"):
			torch = append(torch, line)
		default:
			standard = append(standard, line)
		}
	}
	return strings.Join(standard, "\n") + "\n\n" + strings.Join(torch, "\n")
}
