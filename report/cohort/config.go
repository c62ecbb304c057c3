package cohort

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// Config is the configuration of a run, as in its config.json.
type Config struct {
	config.Config
	JSON json.RawMessage `json:"-"` // the whole object, without its schema version
}

// Member has the settings that may differ between the members of a run.
type Member = config.Member

// Placement returns where an absolute PE is added, "block" or "input"; empty if the scheme has no such option.
func (c Config) Placement() string { return c.PEOptions["pe-placement"] }

// until returns when a model stops before its last step: "train=0.99", or "train=0.99 every 2 epochs" if not each
// epoch or step has a record; empty if it never does.
func (c Config) until() string {
	until := c.Until
	if criterion, err := runlog.ParseCriterion(until); err == nil {
		until = criterion.String() // early runs have it as it was typed
	}
	if until == "" || c.LogEvery <= 1 {
		return until
	}
	unit := "step"
	if c.HasPuzzles() {
		unit = "epoch"
	}
	return until + " every " + wording.Count(c.LogEvery, unit)
}

// incidental holds the keys of the settings that change no model.
var incidental = config.KeysWith(config.Measures, config.Nothing)

// IsIncidental reports whether a setting changes no model, such as the device. The key is one of Settings.
func IsIncidental(key string) bool {
	first, _, _ := strings.Cut(key, ".")
	return slices.Contains(incidental, first)
}

// Label names a model's encoding like the paper: learn-0.2, 2d-fixed.
func Label(pe string, sigma *float64) string { return config.Label(pe, sigma) }

// Settings returns the configuration as text, by key; keys within objects are joined by dots. Members are left
// out.
func (c Config) Settings() (map[string]string, error) {
	flat := map[string]string{}
	if err := addSettings(flat, "", c.JSON); err != nil {
		return nil, err
	}
	delete(flat, "members")
	return flat, nil
}

// addSettings adds the settings of a JSON object to those of a configuration, with a prefix.
func addSettings(to map[string]string, prefix string, text []byte) error {
	object, err := runlog.ParseObject(text)
	if members := object.Get("members"); members != nil {
		to[prefix+"members"] = string(members)
	}
	for key, value := range object.Without("members").Flat() {
		if value = strings.Trim(value, `"`); strings.HasPrefix(key, "pe_options.") {
			value = number.Canonical(value) // early runs have it as it was typed
		}
		to[prefix+key] = value
	}
	return err
}

// Differing returns, in order, the keys that differ between results of Settings, without incidental ones. A
// missing setting counts as empty text.
func Differing(settings []map[string]string) (keys []string) {
	differ := map[string]bool{}
	seen := map[string]bool{}
	for _, flat := range settings {
		for key := range flat {
			if seen[key] {
				continue
			}
			seen[key] = true
			if !IsIncidental(key) {
				other := func(s map[string]string) bool { return s[key] != settings[0][key] }
				differ[key] = slices.ContainsFunc(settings, other)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(differ)) {
		if differ[key] {
			keys = append(keys, key)
		}
	}
	return keys
}
