package figure

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"image/color"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
)

// All colours are defined here. Categories use the palette of Okabe and Ito (jfly.uni-koeln.de/color,
// 2008), which readers with any colour blindness can distinguish. Its yellow is too pale for a line on
// white and is replaced by Tol's wine (SRON technical note 3.2, 2021). Blues are left to the ramp for
// learned encodings. Its black is used for 2d-fixed.
var (
	ink       = rgb(0x262626)
	axisColor = rgb(0x4d4d4d)
	noteColor = rgb(0x666666)
	grey      = rgb(0x757575) // reference lines such as chance

	black      = rgb(0x000000)
	orange     = rgb(0xe69f00)
	green      = rgb(0x009e73)
	vermillion = rgb(0xd55e00)
	purple     = rgb(0xcc79a7)
	wine       = rgb(0x882255)
	blue       = rgb(0x0072b2) // the default
	categories = []color.NRGBA{vermillion, green, purple, orange, wine}
	solid      = []vg.Length(nil)
	dashed     = []vg.Length{4, 1.6}
	dotted     = []vg.Length{1.2, 1.4}
	dashDotted = []vg.Length{5, 1.4, 1.2, 1.4}
)

// lineStyle is the colour and dashes of a labelled line.
type lineStyle struct {
	color  color.NRGBA
	dashes []vg.Length
}

// namedStyles fixes the styles of the paper's encodings, so that they look the same in every
// figure.
var namedStyles = map[string]lineStyle{
	"2d-fixed": {black, solid}, // the true positions: the reference in most figures
	"1d-fixed": {orange, solid},
	"relative": {green, solid},
	"rope":     {vermillion, solid},
	"nope":     {purple, solid},
	"c-nope":   {purple, dashed},
	"random":   {wine, solid},
}

// learnLabel matches the label of a learned encoding with its initial SD: "learn σ=0.2",
// "learn-0.2".
var learnLabel = regexp.MustCompile(`^learn(?:\s+σ\s*=\s*|-)([0-9]*\.?[0-9]+)$`)

// styleByName returns the style that the label has in every figure, if it has one.
func styleByName(label string) (lineStyle, bool) {
	if s, ok := namedStyles[label]; ok {
		return s, true
	}
	if sigma := learnSigma(label); sigma > 0 {
		return lineStyle{learnColor(sigma), learnDashes(sigma)}, true
	}
	return lineStyle{}, false
}

// learnSigma returns the initial SD of a learned encoding, or 0 for another label.
func learnSigma(label string) float64 {
	m := learnLabel.FindStringSubmatch(label)
	if m == nil {
		return 0
	}
	sigma, _ := strconv.ParseFloat(m[1], 64)
	return sigma
}

// nearSigma is the largest difference in √σ of two learned encodings whose solid lines are too alike.
const nearSigma = 0.2

// distinguish gives lines of learned encodings with similar σ different dashes.
func distinguish(styles map[string]lineStyle) {
	patterns := [][]vg.Length{solid, dashed, dotted, dashDotted}
	first, similar := math.Inf(-1), 0 // the smallest √σ of similar lines, and the number of larger ones
	for _, label := range slices.SortedFunc(maps.Keys(styles), func(a, b string) int {
		return cmp.Or(cmp.Compare(learnSigma(a), learnSigma(b)), cmp.Compare(a, b))
	}) {
		s, root := styles[label], math.Sqrt(learnSigma(label))
		switch {
		case root == 0 || s.dashes != nil || root == first:
		case root-first < nearSigma:
			similar++
			s.dashes = patterns[similar%len(patterns)]
			styles[label] = s
		default:
			first, similar = root, 0
		}
	}
}

// learnRamp holds the colours of learned encodings by σ. Colours in between are interpolated linearly in √σ.
// The lightness increases over the paper's grid from 0.1 to 2, most from 0.1 to 0.2 and from 0.7 to 1, which
// are often neighbours in a panel. Below 0.1 and above 2 the hue changes instead, because darker colours differ
// too little and lighter ones are too pale on white.
var learnRamp = []struct {
	sigma float64
	color color.NRGBA
}{
	{0.01, rgb(0xa578ff)}, {0.05, rgb(0x9a28f0)}, {0.1, rgb(0x241c60)}, {0.2, rgb(0x2644a6)},
	{0.7, rgb(0x0069aa)}, {1, rgb(0x2993cd)}, {2, rgb(0x66bceb)}, {3, rgb(0xb8a860)},
}

// learnColor returns the colour of a learned encoding with the initial SD sigma.
func learnColor(sigma float64) color.NRGBA {
	i := 0
	for i < len(learnRamp)-2 && sigma > learnRamp[i+1].sigma {
		i++
	}
	from, to := learnRamp[i], learnRamp[i+1]
	t := (math.Sqrt(sigma) - math.Sqrt(from.sigma)) / (math.Sqrt(to.sigma) - math.Sqrt(from.sigma))
	return mix(from.color, to.color, min(max(t, 0), 1))
}

// learnDashes returns the dashes of the line of a learned encoding. Dashes distinguish σ below 0.1,
// where lines often coincide.
func learnDashes(sigma float64) []vg.Length {
	switch {
	case sigma < 0.03:
		return dotted
	case sigma < 0.1:
		return dashed
	}
	return solid
}

// lineStyles assigns a style to each label. A label without a fixed style gets the colour selected by a
// hash of its name, so that it usually has the same colour in every figure. If that is taken it gets
// the next free colour, and then dashed lines. Styles repeat from the 21st such label.
func lineStyles(labels []string) map[string]lineStyle {
	styles := make(map[string]lineStyle, len(labels))
	taken := map[string]bool{}
	key := func(s lineStyle) string { return fmt.Sprint(s) }
	var rest []string
	for _, label := range labels {
		if s, ok := styleByName(label); ok {
			styles[label], taken[key(s)] = s, true
		} else {
			rest = append(rest, label)
		}
	}
	sort.Strings(rest) // so that the order of the lines does not matter
	for _, label := range rest {
		slots := slotsFor(label)
		s := slots[0]
		for _, slot := range slots {
			if !taken[key(slot)] {
				s = slot
				break
			}
		}
		styles[label], taken[key(s)] = s, true
	}
	return styles
}

// slotsFor lists the styles that a label may have, the preferred one first.
func slotsFor(label string) []lineStyle {
	h := fnv.New32a()
	h.Write([]byte(label))
	n := len(categories)
	first := int(h.Sum32() % uint32(n))
	var slots []lineStyle
	for _, dashes := range [][]vg.Length{solid, dashed, dotted, dashDotted} {
		for i := range n {
			slots = append(slots, lineStyle{categories[(first+i)%n], dashes})
		}
	}
	return slots
}

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

func mix(a, b color.NRGBA, t float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.NRGBA{R: m(a.R, b.R), G: m(a.G, b.G), B: m(a.B, b.B), A: 0xff}
}

// translucent returns c at a low opacity, for bands behind lines.
func translucent(c color.NRGBA) color.NRGBA {
	c.A = 0x2e
	return c
}

// readable darkens c until its contrast with white is at least 4.5, as WCAG 2.1 (1.4.3) requires for
// text.
func readable(c color.NRGBA) color.NRGBA {
	for contrastWithWhite(c) < 4.5 {
		c = mix(c, black, 0.04)
	}
	return c
}

// contrastWithWhite returns the contrast ratio of WCAG 2.1, 1 to 21.
func contrastWithWhite(c color.NRGBA) float64 {
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.03928 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 1.05 / (0.2126*lin(c.R) + 0.7152*lin(c.G) + 0.0722*lin(c.B) + 0.05)
}

// namedColors holds the colours of groups by their names, as namedColor spells them: the networks of the
// Cole-Anticevic partition (CAB-NP) v1.1 of the human cortex (Ji et al. 2019, NeuroImage 185:35), and the
// contents of a puzzle's cell. Each network has the colour of Krzywinski's 12-colour palette for
// colour-blind readers (mk.bcgsc.ca/colorblind) that is nearest to the partition's own colour.
var namedColors = map[string]color.NRGBA{
	"visual1":             rgb(0x008df9),
	"visual2":             rgb(0x8400cd),
	"somatomotor":         rgb(0x00c2f9),
	"cinguloopercular":    rgb(0x9f0162),
	"language":            rgb(0x009f81),
	"default":             rgb(0xe20134),
	"frontoparietal":      rgb(0xffc33b),
	"auditory":            rgb(0xffb2fd),
	"posteriormultimodal": rgb(0xa40122),
	"dorsalattention":     rgb(0x00fccf),
	"ventralmultimodal":   rgb(0xff6e3a),
	"orbitoaffective":     rgb(0xff5aaf),

	"blank": rgb(0xf2f2f2), "circle": blue, "square": vermillion, "triangle": green, "cross": purple,
	"inquestion": probeColor,
}

// namedColor returns the colour of a group by its name. It ignores case, hyphens, underscores and blanks.
func namedColor(name string) (color.NRGBA, bool) {
	key := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	c, ok := namedColors[key]
	return c, ok
}

// GroupColors returns the colours of n groups: those of their names if all have one, else moduleColors.
func GroupColors(n int, names []string) []color.NRGBA {
	out := make([]color.NRGBA, n)
	named := len(names) >= n
	for i := range out {
		if named {
			out[i], named = namedColor(names[i])
		}
	}
	for i := range out {
		if !named {
			out[i] = moduleColor(i)
		}
	}
	return out
}

// moduleColors holds the colours of groups of tokens: Tol's light scheme (SRON technical note 3.2, 2021,
// figure 6), which is made for fills and differs from the colours of the encodings.
var moduleColors = []color.NRGBA{rgb(0x77aadd), rgb(0xee8866), rgb(0x44bb99), rgb(0xffaabb), rgb(0xbbcc33),
	rgb(0xeedd88), rgb(0x99ddff), rgb(0xaaaa00)}

// moduleColor returns the colour of the i-th group. From the ninth group colours repeat in lighter and
// darker tints.
func moduleColor(i int) color.NRGBA {
	all := moduleColors
	c := all[i%len(all)]
	switch i / len(all) % 3 {
	case 1:
		return mix(c, rgb(0xffffff), 0.5)
	case 2:
		return mix(c, black, 0.45)
	}
	return c
}
