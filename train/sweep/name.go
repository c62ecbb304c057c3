package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"torchpe/train/config"
	"torchpe/train/runlog"
)

// unnamed lists the keys that names of runs leave out: task, PE and seeds have their own places in
// a name, and the others do not change the model.
var unnamed = append([]string{"task", "pe", membersKey, "schema"},
	config.KeysWith(config.Measures, config.Nothing)...)

// nameParts holds the parts of a run's name.
type nameParts struct {
	task, pe string
	sigma    *float64
	seed     uint64
	settings map[string]string // JSON by key, as in runlog.Object.Flat, with the member's lr and weight_decay
}

// namePartsOf returns the name parts of a run whose base has these settings.
func namePartsOf(r run, base map[string]string) (nameParts, error) {
	var member config.Member
	if err := json.Unmarshal(r.member, &member); err != nil {
		return nameParts{}, fmt.Errorf("member %s: %w", r.member, err)
	}
	own, err := runlog.ParseObject(r.member)
	if err != nil {
		return nameParts{}, err
	}
	settings := maps.Clone(base)
	maps.Copy(settings, own.Without("seed", "sigma").Flat())
	return nameParts{task: textOf(r.base.Get("task")), pe: textOf(r.base.Get("pe")), sigma: member.Sigma,
		seed: member.Seed, settings: settings}, nil
}

// textOf returns a JSON value as text, a string without its quotes.
func textOf(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// name returns the names of runs[first:]; earlier runs already have theirs. A name has PE, sigma
// and seed, and every other setting that differs between runs of the task (options of a scheme:
// between runs of the task and scheme). It omits a value that more than half of these runs share.
func (p *Plan) name(runs []run, first int) ([]string, error) {
	all := make([]nameParts, len(runs))
	bases := map[string]map[string]string{}
	for i, r := range runs {
		text := string(r.base.Text())
		if bases[text] == nil {
			bases[text] = r.base.Without(unnamed...).Flat()
		}
		var err error
		if all[i], err = namePartsOf(r, bases[text]); err != nil {
			return nil, err
		}
	}
	differ := differing(all)
	taken := map[string]bool{}
	for _, t := range p.Tasks {
		for _, name := range t.Runs {
			taken[strings.ToLower(name)] = true
		}
	}
	var out []string
	for i := first; i < len(all); i++ {
		name := all[i].name(differ)
		if len(name) > longestName || taken[strings.ToLower(name)] {
			sum := sha256.Sum256([]byte(runs[i].identity()))
			name = name[:min(len(name), longestName)] + "_" + hex.EncodeToString(sum[:4])
		}
		if taken[strings.ToLower(name)] {
			return nil, fmt.Errorf("two runs would be called %s", name)
		}
		if err := runlog.ValidateName(name); err != nil {
			return nil, err
		}
		taken[strings.ToLower(name)] = true
		out = append(out, name)
	}
	return out, nil
}

// longestName is the largest length of a name without its hash.
const longestName = 110

// setting is a key within a scope.
type setting struct{ scope, key string }

// differing returns the settings in which runs differ, each with the value that names omit: the
// value that more than half of the runs share, or noUsual.
func differing(all []nameParts) map[setting]string {
	values := map[setting]map[string]int{}
	count := map[string]int{}
	for _, f := range all {
		count[f.scope("")]++
		count[f.scope(optionsPrefix)]++
		for key, v := range f.settings {
			at := setting{f.scope(key), key}
			if values[at] == nil {
				values[at] = map[string]int{}
			}
			values[at][v]++
		}
	}
	out := map[setting]string{}
	for at, by := range values {
		some, usual := 0, noUsual // runs that have the setting
		for v, n := range by {
			some += n
			if 2*n > count[at.scope] {
				usual = v
			}
		}
		if len(by) > 1 || some < count[at.scope] {
			out[at] = usual
		}
	}
	for _, f := range all { // the task itself has no scope
		if f.task != all[0].task {
			out[taskSetting] = noUsual
		}
	}
	return out
}

// noUsual differs from all values of settings: values are JSON without white space, or text of one line.
const noUsual = "\n"

var taskSetting = setting{"", "task"}

const optionsPrefix = "pe_options."

// scope identifies the runs among which a setting is compared: those of the task, and for options
// of a scheme those of the task and scheme.
func (f nameParts) scope(key string) string {
	if strings.HasPrefix(key, optionsPrefix) {
		return f.task + "/" + f.pe
	}
	return f.task
}

func (f nameParts) name(differ map[setting]string) string {
	var parts []string
	if _, several := differ[taskSetting]; several {
		parts = append(parts, clean(f.task))
	}
	parts = append(parts, clean(config.NameInPath(f.pe, f.sigma)))
	for _, key := range slices.Sorted(maps.Keys(f.settings)) {
		if usual, differs := differ[setting{f.scope(key), key}]; differs && f.settings[key] != usual {
			short := key[strings.LastIndex(key, ".")+1:]
			parts = append(parts, clean(short)+"="+clean(textOf([]byte(f.settings[key]))))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("seed=%d", f.seed)), "_")
}

// clean converts a value to a part of a name: it replaces characters other than letters, digits,
// dots and dashes by dashes, and a long value by a hash.
func clean(text string) string {
	const longest = 24
	if len(text) > longest {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:4])
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-':
			return c
		}
		return '-'
	}, text)
}
