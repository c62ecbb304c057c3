package table

import "strings"

// notInOT1 lists the letters up to U+017E that pdflatex refuses in its default text encoding.
const notInOT1 = "ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲų"

// latexText lists characters that have a source of their own in LaTeX's text: after each character, up
// to the next blank, its source.
const latexText = `\\textbackslash{} &\& %\% $\$ #\# _\_ {\{ }\} ~\textasciitilde{} ^\textasciicircum{}
	<$<$ >$>$ |\textbar{} "'' [{[} ]{]} *{*} –-- —--- ‐- ‑- ‒-- …\ldots{} ‘` + "`" + ` ’' “` + "``" + ` ”'' „,, ‚,
	¡!` + "`" + ` ¿?` + "`" + ` §\S{} ¶\P{} †\dag{} ‡\ddag{} ©\copyright{}
	®\textregistered{} ™\texttrademark{} £\pounds{} ı\i{}`

// latexMath lists characters that LaTeX sets as mathematics, in the same way.
const latexMath = `×\times ÷\div ±\pm −- ·\cdot •\bullet ∗\ast ∘\circ ≤\leq ≥\geq ≠\neq ≈\approx ≡\equiv
	∼\sim ∝\propto ≪\ll ≫\gg ∞\infty ∂\partial ∇\nabla ∆\Delta ∑\sum ∏\prod ∫\int √\surd ∈\in ⊂\subset
	⊆\subseteq ∪\cup ∩\cap ⊕\oplus ⊗\otimes ⊥\perp ∥\parallel ←\leftarrow →\rightarrow ↑\uparrow
	↓\downarrow ↔\leftrightarrow ⇒\Rightarrow ⇔\Leftrightarrow ‖\| ′' ″'' °^{\circ} µ\mu ϵ\epsilon
	ϕ\phi Ω\Omega ϑ\vartheta ϱ\varrho ϖ\varpi ℓ\ell ℝ\mathbf{R} ℕ\mathbf{N} ℤ\mathbf{Z}
	∓\mp ∙\cdot ≃\simeq ≅\cong ∉\notin ∅\emptyset ∀\forall ∃\exists ¬\neg ∧\wedge ∨\vee ⇐\Leftarrow
	↦\mapsto ⟨\langle ⟩\rangle ★\star △\triangle ⋯\cdots ⋮\vdots ½\frac{1}{2} ¼\frac{1}{4} ¾\frac{3}{4} ⁿ^{n}
	α\alpha β\beta γ\gamma δ\delta ε\varepsilon ζ\zeta η\eta θ\theta ι\iota κ\kappa λ\lambda μ\mu ν\nu
	ξ\xi οo π\pi ρ\rho ς\varsigma σ\sigma τ\tau υ\upsilon φ\varphi χ\chi ψ\psi ω\omega
	Α\mathrm{A} Β\mathrm{B} Γ\Gamma Δ\Delta Ε\mathrm{E} Ζ\mathrm{Z} Η\mathrm{H} Θ\Theta Ι\mathrm{I}
	Κ\mathrm{K} Λ\Lambda Μ\mathrm{M} Ν\mathrm{N} Ξ\Xi Ο\mathrm{O} Π\Pi Ρ\mathrm{P} Σ\Sigma Τ\mathrm{T}
	Υ\Upsilon Φ\Phi Χ\mathrm{X} Ψ\Psi Ω\Omega`

// latexSource maps characters to LaTeX source.
var latexSource = func() map[rune]string {
	all := map[rune]string{
		'\u00a0': `~`, '\u2009': `\,`, '\u202f': `\,`, '\u200a': `\,`, '\u00ad': `\-`, '\u200b': ``,
		'\u200d': ``, '\u2002': ` `, '\u2003': ` `, '\u2007': ` `, '\u2008': ` `,
	}
	add := func(list, before, after string) {
		for _, entry := range strings.Fields(list) {
			r := []rune(entry)
			all[r[0]] = before + string(r[1:]) + after
		}
	}
	add(latexText, "", "")
	add(latexMath, "$", "$")
	add("⁰0 ¹1 ²2 ³3 ⁴4 ⁵5 ⁶6 ⁷7 ⁸8 ⁹9 ⁺+ ⁻-", "$^{", "}$")
	add("₀0 ₁1 ₂2 ₃3 ₄4 ₅5 ₆6 ₇7 ₈8 ₉9 ₊+ ₋-", "$_{", "}$")
	return all
}()
