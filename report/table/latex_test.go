package table

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"torchpe/internal/expect"
)

func TestEscapeLaTeX(t *testing.T) {
	for s, want := range map[string]string{
		`\&%$#_{}~^`:       `\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}`,
		"σ=0.2, ρ ≥ −1²":   `$\sigma$=0.2, $\rho$ $\geq$ $-$1$^{2}$`,
		"a--b ---":         `a-{}-b -{}-{}-`,
		"–-—":              `--{}-{}---`,
		"?`!`":             "?{}`!{}`",
		`""`:               `''{}''`,
		"'''":              `'{}'{}'`,
		"Δ×±<>":            `$\Delta$$\times$$\pm$$<$$>$`,
		"naïve Łódź":       `naïve Łódź`,
		"ð中":               `{[}U+00F0{]}{[}U+4E2D{]}`,
		"two\r\n\x1blines": `two lines`,
		"":                 "",
	} {
		expect.Equal(t, fmt.Sprintf("escapeLaTeX(%q)", s), escapeLaTeX(s), want)
	}
}

// latexToken is all that may stand in escaped text: letters and signs that mean themselves, a
// special behind a backslash, a command of letters ended by {}, braces of its own, and formulas of
// commands, digits and signs.
var latexToken = regexp.MustCompile("^(?:[^\\\\&%$#_{}~^<>|\\[\\]*\"]|~|" +
	`\\[&%$#_{},-]|\\[A-Za-z]+\{\}|\{\}|\{[\[\]*]\}|` +
	`\$(?:[A-Za-z<>'+-]|\\[A-Za-z]+|\\\||[_^]?\{(?:[A-Za-z0-9+-]|\\circ)\}|\\frac\{1\}\{[24]\}|\{[234]\})+\$)`)

func checkEscaped(t *testing.T, s string) {
	escaped := escapeLaTeX(s)
	for rest := escaped; rest != ""; {
		token := latexToken.FindString(rest)
		if token == "" {
			t.Fatalf("escapeLaTeX(%q) = %s: bare special at %s", s, escaped, rest)
		}
		rest = rest[len(token):]
	}
	for _, ligature := range []string{"?`", "!`"} {
		if strings.Contains(escaped, ligature) && !strings.ContainsAny(s, "¿¡") {
			t.Errorf("escapeLaTeX(%q) = %s: prints another sign for %s", s, escaped, ligature)
		}
	}
	if !utf8.ValidString(escaped) || strings.ContainsAny(escaped, "\n\r") {
		t.Errorf("escapeLaTeX(%q) = %q", s, escaped)
	}
}

// FuzzEscapeLaTeX looks for text whose escaped form has a special in it that acts.
func FuzzEscapeLaTeX(f *testing.F) {
	all := ""
	for r := range latexSource {
		all += string(r)
	}
	f.Add(all)
	f.Add("\\input{x} & 100% $a_b^c$ #1 ~ [x] *")
	f.Add("?`!`--''–-—\u00ad-")
	f.Add(hostileTable().Title + hostileTable().Note)
	f.Fuzz(checkEscaped)
}

// Where LaTeX is installed it compiles the goldens and every character that escapeLaTeX lets
// through or replaces.
func TestLaTeXCompiles(t *testing.T) {
	for _, tool := range []string{"pdflatex", "kpsewhich"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (Debian: texlive-latex-recommended)", tool)
		}
	}
	if out, err := exec.Command("kpsewhich", "booktabs.sty").Output(); err != nil {
		t.Skipf("booktabs.sty is not installed (Debian: texlive-latex-recommended): %s", out)
	}
	var signs strings.Builder
	for r := ' '; r < 0x2600; r++ {
		if _, known := latexSource[r]; known || accented(r) || r <= '~' {
			signs.WriteString(escapeLaTeX("x"+string(r)) + "\\par\n")
		}
	}
	var b bytes.Buffer
	b.WriteString("\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" +
		signs.String())
	for _, table := range []Table{plainTable(), hostileTable()} {
		expect.NoError(t, table.Write(&b, "tex"))
	}
	b.WriteString("\\end{document}\n")
	dir := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(dir, "t.tex"), b.Bytes(), 0o666))
	cmd := exec.Command("pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pdflatex: %v\n%s", err, out)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "t.log"))
	if i := bytes.Index(log, []byte("Missing character")); i >= 0 {
		t.Errorf("a character has no glyph: %s", log[i:min(i+200, len(log))])
	}
}
