package table

import (
	"maps"
	"strings"
)

// notInOT1 lists the letters up to U+017E that pdflatex refuses in its default text encoding.
const notInOT1 = "ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲų"

// latexSource maps characters to LaTeX source.
var latexSource = func() map[rune]string {
	m := map[rune]string{
		'\\': `\textbackslash{}`, '&': `\&`, '%': `\%`, '$': `\$`, '#': `\#`, '_': `\_`, '{': `\{`,
		'}': `\}`,
		'~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '<': `$<$`, '>': `$>$`,
		'|': `\textbar{}`,
		'"': `''`,
		'[': `{[}`, ']': `{]}`, '*': `{*}`, // \\ and \midrule would read [ and * as arguments
		'\u00a0': `~`, '\u2009': `\,`, '\u202f': `\,`, '\u00ad': `\-`, '\u200b': ``, '\u200d': ``,
		'\u2002': ` `, '\u2003': ` `, '\u2007': ` `, '\u2008': ` `, '\u200a': `\,`,
		'–': `--`, '—': `---`, '‐': `-`, '‑': `-`, '‒': `--`, '…': `\ldots{}`, '‘': "`", '’': `'`,
		'“': "``", '”': `''`, '„': `,,`, '‚': `,`,
		'¡': "!`", '¿': "?`", '§': `\S{}`, '¶': `\P{}`, '†': `\dag{}`, '‡': `\ddag{}`,
		'©': `\copyright{}`, '®': `\textregistered{}`,
		'™': `\texttrademark{}`, '£': `\pounds{}`, 'ı': `\i{}`,
	}
	maps.Copy(m, mathSigns)
	for i, r := range []rune("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ") {
		m[r] = "$^{" + string([]rune("0123456789+-n")[i]) + "}$"
	}
	for i, r := range []rune("₀₁₂₃₄₅₆₇₈₉₊₋") {
		m[r] = "$_{" + string([]rune("0123456789+-")[i]) + "}$"
	}
	for i, r := range []rune("αβγδεζηθικλμνξοπρςστυφχψω") {
		m[r] = "$" + lowerGreek[i] + "$"
	}
	for i, r := range []rune("ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ") {
		if upper := upperGreek[i]; len(upper) == 1 {
			m[r] = `$\mathrm{` + upper + `}$`
		} else {
			m[r] = "$" + upper + "$"
		}
	}
	return m
}()

var lowerGreek = strings.Fields(`\alpha \beta \gamma \delta \varepsilon \zeta \eta \theta \iota \kappa \lambda \mu 
	\nu \xi o \pi \rho \varsigma \sigma \tau \upsilon \varphi \chi \psi \omega`)

var upperGreek = strings.Fields(
	`A B \Gamma \Delta E Z H \Theta I K \Lambda M N \Xi O \Pi P \Sigma T \Upsilon \Phi X \Psi \Omega`)

// mathSigns maps signs and letters of LaTeX's maths mode to their source.
var mathSigns = func() map[rune]string {
	m := map[rune]string{}
	for r, name := range map[rune]string{
		'×': `\times`, '÷': `\div`, '±': `\pm`, '∓': `\mp`, '−': `-`, '·': `\cdot`, '∙': `\cdot`,
		'•': `\bullet`, '∗': `\ast`, '∘': `\circ`,
		'≤': `\leq`, '≥': `\geq`, '≠': `\neq`, '≈': `\approx`, '≡': `\equiv`, '∼': `\sim`,
		'≃': `\simeq`, '≅': `\cong`, '∝': `\propto`,
		'≪': `\ll`, '≫': `\gg`, '∞': `\infty`, '∂': `\partial`, '∇': `\nabla`, '∆': `\Delta`,
		'∑': `\sum`, '∏': `\prod`, '∫': `\int`,
		'√': `\surd`, '∈': `\in`, '∉': `\notin`, '⊂': `\subset`, '⊆': `\subseteq`, '∪': `\cup`,
		'∩': `\cap`, '∅': `\emptyset`,
		'∀': `\forall`, '∃': `\exists`, '¬': `\neg`, '∧': `\wedge`, '∨': `\vee`, '⊕': `\oplus`,
		'⊗': `\otimes`, '⊥': `\perp`, '∥': `\parallel`,
		'←': `\leftarrow`, '→': `\rightarrow`, '↑': `\uparrow`, '↓': `\downarrow`,
		'↔': `\leftrightarrow`, '⇒': `\Rightarrow`,
		'⇐': `\Leftarrow`, '⇔': `\Leftrightarrow`, '↦': `\mapsto`, '⟨': `\langle`, '⟩': `\rangle`,
		'‖': `\|`, '′': `'`, '″': `''`,
		'°': `^{\circ}`, 'µ': `\mu`, 'ϵ': `\epsilon`, 'ϕ': `\phi`, 'ϑ': `\vartheta`, 'ϱ': `\varrho`,
		'ϖ': `\varpi`, 'Ω': `\Omega`,
		'ℓ': `\ell`, 'ℝ': `\mathbf{R}`, 'ℕ': `\mathbf{N}`, 'ℤ': `\mathbf{Z}`, '½': `\frac{1}{2}`,
		'¼': `\frac{1}{4}`, '¾': `\frac{3}{4}`,
		'★': `\star`, '△': `\triangle`, '⋯': `\cdots`, '⋮': `\vdots`,
	} {
		m[r] = "$" + name + "$"
	}
	return m
}()
