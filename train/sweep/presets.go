package sweep

import (
	_ "embed" // the presets
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"torchpe/internal/wording"
)

// Preset is a sweep of presets.yaml.
type Preset struct {
	Name  string
	About string
	Runs  int // that Spec expands to, each counted once
	Spec  Spec
}

//go:embed presets.yaml
var presetsFile []byte

// presets reads presets.yaml.
var presets = sync.OnceValue(func() (all []Preset) {
	document, err := onlyDocument(presetsFile)
	if err != nil {
		panic(err) // a constant of this program
	}
	r := &yamlReader{}
	for _, item := range document.Content {
		values := r.pairs(item, "preset", append([]string{"about", "runs", "of"}, sweepKeys...))
		var p Preset
		if v := valueOf(values, "about"); v != nil {
			p.About = r.scalar(v, "about")
			if p.Runs, err = strconv.Atoi(r.scalar(valueOf(values, "runs"), "runs")); err != nil {
				panic(err)
			}
		}
		if of := valueOf(values, "of"); of == nil {
			p.Spec = r.spec(values)
		} else {
			p.Spec.Name = r.scalar(valueOf(values, "name"), "name")
			for _, n := range of.Content {
				at := slices.IndexFunc(all, func(p Preset) bool { return p.Name == n.Value })
				p.Spec.Parts = append(p.Spec.Parts, all[at].Spec.Parts...)
			}
		}
		p.Name = p.Spec.Name
		all = append(all, p)
	}
	return all
})

// Presets lists the presets, the small ones after those of the paper.
func Presets() []Preset {
	return slices.DeleteFunc(slices.Clone(presets()), func(p Preset) bool { return p.About == "" })
}

// FindPreset returns the preset of that name.
func FindPreset(name string) (Preset, error) {
	if name == "corners" { // of an earlier version
		name = "ablation"
	}
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("%q is neither a file nor a preset; the presets are %s%s", name,
		strings.Join(names, ", "), wording.Hint(name, names))
}
