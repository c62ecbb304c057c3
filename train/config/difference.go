package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/train/runlog"
)

// Difference is a setting in which two configurations differ. Was and Now are JSON, or "none" where
// one of them lacks the setting.
type Difference struct{ Key, Was, Now string }

// String describes the change, as in "lr was 0.0003 and is 0.3".
func (d Difference) String() string { return fmt.Sprintf("%s was %s and is %s", d.Key, d.Was, d.Now) }

// Differences lists, by key, the settings that differ between two configurations and change results
// or measurements.
func Differences(was, now Config) ([]Difference, error) {
	a, err := was.values()
	if err != nil {
		return nil, err
	}
	b, err := now.values()
	if err != nil {
		return nil, err
	}
	all, unimportant := maps.Clone(a), KeysWith(Nothing)
	maps.Copy(all, b) // each may lack keys of the other
	var found []Difference
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if a[key] != b[key] && !slices.Contains(unimportant, key) {
			found = append(found, Difference{key, cmp.Or(a[key], "none"), cmp.Or(b[key], "none")})
		}
	}
	return found, nil
}

// SharesData reports whether two configurations of a study are trained on the same data, so that
// they differ only in the model, the optimizer or the seed. If the data depend on the encoding, the
// encoding and its options must be equal too.
func SharesData(a, b Config) (bool, error) {
	all, err := Differences(a, b)
	if err != nil || a.Facts().DependsOnPE && (a.PE != b.PE || !maps.Equal(a.PEOptions, b.PEOptions)) {
		return false, err
	}
	factors := append(Keys(func(s Setting) bool { return s.Factor }), KeysWith(Measures)...)
	return !slices.ContainsFunc(all, func(d Difference) bool {
		first, _, _ := strings.Cut(d.Key, ".")
		return !slices.Contains(factors, d.Key) && !slices.Contains(factors, first)
	}), nil
}

// CheckResumed returns an error that lists the settings that differ between two configurations and
// may not; in a finished run none may. Paths of files may differ: their content is compared later.
// path is the path of the run's config.json.
func CheckResumed(stored, now Config, path string, allowed []string) error {
	all, err := Differences(stored, now)
	if err != nil {
		return err
	}
	dir, advice := filepath.Dir(path), "leave these flags out, start a new run with another --out, or allow the "+
		"change, which is recorded, with --allow-changed and the name before \"was\""
	if _, err := os.Stat(filepath.Join(dir, "result.json")); err == nil {
		allowed = nil
		advice = fmt.Sprintf("it is finished and cannot be trained further: start a new run from its weights, "+
			"--from %s --take all, with another --out", wording.Quote(dir))
	}
	var differ []string
	for _, d := range all {
		if !slices.Contains(allowed, d.Key) && !slices.Contains(PathKeys(), d.Key) {
			differ = append(differ, fmt.Sprintf("%s was %s and would be %s", d.Key, d.Was, d.Now))
		}
	}
	if differ != nil {
		return fmt.Errorf("the run to resume has another configuration (%s):\n  %s\n%s", path,
			strings.Join(differ, "\n  "), advice)
	}
	return nil
}

// values returns the values of config.json by key, as JSON.
func (c Config) values() (map[string]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	object, err := runlog.ParseObject(text)
	return object.Flat(), err
}
