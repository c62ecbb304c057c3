package cohort

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"torchpe/internal/wording"
	"torchpe/train/config"
	"torchpe/train/runlog"
)

// The keys of Model.Identity that are not settings.
const (
	DataKey    = runlog.DataKey // SHA-256 of the data; "" if no checkpoint is left that has it
	WeightsKey = "weights"      // Run.Origin
)

// PrecisionKey is the key of a setting that an identity has as it was used: auto is another precision on a GPU.
const PrecisionKey = "precision"

// LengthKeys are the settings that say when training ends.
var LengthKeys = []string{"epochs", "steps", "limit_steps", "until"}

// Identity identifies models that differ only in their seed. By key, it has the settings that change what is
// trained or measured, including those of the member, the data, and the origin of the weights. Models may be
// averaged only if their identities are equal.
func (m Model) Identity() (map[string]string, error) {
	all, err := m.Run.Config.Settings()
	if err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", m.Run.Dir, err)
	}
	maps.DeleteFunc(all, func(key, _ string) bool { return IsIncidental(key) })
	if until := m.Run.Config.until(); until != "" {
		all["until"] = until
	}
	text, err := json.Marshal(m.Member)
	if err != nil {
		return nil, err
	}
	if err := addSettings(all, "members.", text); err != nil {
		return nil, err
	}
	delete(all, "members.seed")
	if name, has := all["optimizer"]; has {
		all["optimizer"] = m.optimizer(name)
	}
	all[DataKey], all[WeightsKey] = m.Run.DataSHA256, m.Run.Origin
	// The hash identifies the data, but not the names by which a file's places are matched.
	isKnown := m.Run.DataSHA256 != "" && all[placesKey] == ""
	maps.DeleteFunc(all, func(key, value string) bool {
		return slices.Contains(dataPaths, key) && (isKnown || value == "" || value == "null")
	})
	all[PrecisionKey] = cmp.Or(all[PrecisionKey], m.Run.Precision())
	return all, nil
}

// placesKey is the key of the hash of the file that places the tokens.
const placesKey = "positions.sha256"

// dataPaths holds the keys of the files with the data. The hash of the data replaces them, because one file may
// have several paths.
var dataPaths = config.Keys(func(s config.Setting) bool {
	return s.Path && slices.Contains(config.DataKeys(), s.Key)
})

// Optimizer returns the optimizer. adamw without decay is returned as adam, which is the same.
func (m Model) Optimizer() string { return m.optimizer(m.Run.Config.Optimizer) }

func (m Model) optimizer(name string) string {
	if name == "adamw" && m.Member.WeightDecay == 0 && m.Member.PEWeightDecay == nil {
		return "adam"
	}
	return name
}

// base identifies what all models of one figure share: the identity without the precision and the settings that
// figures compare, those of the encoding, the member and the length of training.
func (m Model) base() (map[string]string, error) {
	identity, err := m.Identity()
	maps.DeleteFunc(identity, func(key, _ string) bool {
		object, _, _ := strings.Cut(key, ".")
		return key == WeightsKey || key == PrecisionKey || slices.Contains(factors, key) ||
			slices.Contains(factors, object)
	})
	return identity, err
}

// factors holds the keys of the settings in which the models of a figure differ.
var factors = config.Keys(func(s config.Setting) bool { return s.Factor })

// TrainedAs returns the identity without the encoding, to which the rows of a table (--places) belong. It should be
// equal for all models that are compared.
func (m Model) TrainedAs() (map[string]string, error) {
	identity, err := m.Identity()
	maps.DeleteFunc(identity, func(key, _ string) bool {
		return key == "members.sigma" || key == "sequence.places" ||
			strings.HasPrefix(strings.TrimPrefix(key, "members."), "pe")
	})
	return identity, err
}

// Unlike returns the keys, without ignored ones, in which groups of different encodings differ besides the
// encoding, and the values of each group.
func Unlike(groups []Group, ignored ...string) (keys []string, values []map[string]string, err error) {
	values = make([]map[string]string, len(groups))
	for i, g := range groups {
		if values[i], err = g.Models[0].TrainedAs(); err != nil {
			return nil, nil, err
		}
		maps.DeleteFunc(values[i], func(key, _ string) bool { return slices.Contains(ignored, key) })
	}
	return Differing(values), values, nil
}

// UnlikeData returns the data settings in which two models differ, or the hashes of their data, each described
// by Difference; nil if they have the same examples.
func UnlikeData(a, b Model) (settings [][2]string, err error) {
	keys, values, err := Unlike([]Group{{Models: []Model{a}}, {Models: []Model{b}}})
	for _, key := range keys {
		if key == DataKey || slices.Contains(config.DataKeys(), key) {
			settings = append(settings, [2]string{Difference(key, values[0][key]), Difference(key, values[1][key])})
		}
	}
	return settings, err
}

// Identities returns the identity of each model.
func Identities(models []Model) ([]map[string]string, error) {
	out := make([]map[string]string, len(models))
	for i, m := range models {
		var err error
		if out[i], err = m.Identity(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Key returns an identity as one text, without the given keys.
func Key(identity map[string]string, without ...string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(identity)) {
		if !slices.Contains(without, key) {
			fmt.Fprintf(&b, "%s=%q\n", key, identity[key])
		}
	}
	return b.String()
}

// IsLength reports whether a key is of a setting that says when training ends.
func IsLength(key string) bool { return slices.Contains(LengthKeys, key) }

// Difference describes a value of an identity for the label of an encoding: "lr 0.001", or by the first digits
// of a hash, "data 1a0dc7ef" and "positions bdcef564".
func Difference(key, value string) string {
	if of, isHash := strings.CutSuffix(key, ".sha256"); isHash {
		key, value = of, value[:min(8, len(value))]
	}
	switch key {
	case DataKey:
		return "data " + cmp.Or(value[:min(8, len(value))], "unknown")
	case WeightsKey:
		return value
	case "members.pe_lr", "members.pe_weight_decay":
		value = cmp.Or(value, "shared")
	}
	return NameOf(key) + " " + cmp.Or(value, "none")
}

// NameOf returns the name of a setting by its key: lr for members.lr, positions for positions.sha256.
func NameOf(key string) string {
	key = strings.TrimSuffix(key, ".sha256")
	return key[strings.LastIndex(key, ".")+1:]
}

// Distinct returns models without repeated ones. Of models with the same seed and the same identity, apart from
// the given keys, such as a run and its copy, it keeps the one that Copies.Add chooses. A note says how many were
// left out.
func Distinct(models []Model, without ...string) (kept []Model, notes []string, err error) {
	all, err := Identities(models)
	if err != nil {
		return nil, nil, err
	}
	at := map[string]int{} // in kept
	var copies Copies
	for i, m := range models {
		key := fmt.Sprint(Key(all[i], without...), m.Member.Seed)
		first, isCopy := at[key]
		switch {
		case !isCopy:
			at[key] = len(kept)
			kept = append(kept, m)
		case copies.Add(kept[first].Result.Measures, m.Result.Measures):
			kept[first] = m
		}
	}
	return kept, copies.Notes(), nil
}

// Copies counts models that were left out because another one has their settings, data and seed.
type Copies struct{ all, differ int }

// Add counts the copy of a model, with the numbers of both. It reports whether the second one counts: it does if
// it has the numbers of the first and more, because settings of measurements do not belong to the model.
func (c *Copies) Add(first, second runlog.Numbers) (secondCounts bool) {
	c.all++
	more := len(second) > len(first)
	for key, a := range first {
		b, both := second[key]
		if both && a != b && !(math.IsNaN(a) && math.IsNaN(b)) {
			c.differ++
			return false
		}
		more = more && both
	}
	return more
}

// Notes returns a sentence on the copies, or none if there are none.
func (c Copies) Notes() []string {
	if c.all == 0 {
		return nil
	}
	note := "counted once: " + wording.Count(c.all, "model") + " with the settings, data and seed of another"
	if c.differ > 0 {
		note += fmt.Sprintf("; for %d of them the numbers differ (another build or device, or imported weights?); "+
			"the first counts", c.differ)
	}
	return []string{note}
}

// readOrigin sets the data, the origin of a run's weights and the precision.
func (r *Run) readOrigin(from *runlog.Reader) error {
	metadata, err := from.CheckpointMetadata()
	if err != nil && !errors.Is(err, runlog.ErrDamaged) && !errors.Is(err, runlog.ErrNoCheckpoint) {
		return err
	}
	r.DataSHA256 = metadata[runlog.DataKey]
	environments, err := from.Environments()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var origins, precisions []string
	for _, e := range environments {
		precisions = append(precisions, cmp.Or(e.Precision, onlyPrecision))
		for _, changed := range e.Changed {
			if origin := originOf(changed, r.Config.Schedule); origin != "" {
				origins = append(origins, origin)
			}
		}
	}
	edited, err := r.edited(metadata[runlog.ConfigKey])
	if err != nil {
		return err
	}
	if edited != nil {
		origins = append(origins, "config.json was edited: "+strings.Join(edited, ", "))
	}
	r.Origin = strings.Join(origins, "; ")
	r.precisions = slices.Compact(precisions)
	return nil
}

// Precision returns the precision of products, such as fp32; "tf32, fp32" if the run was continued with another
// one.
func (r *Run) Precision() string {
	return cmp.Or(r.Config.Precision, strings.Join(r.precisions, ", "), onlyPrecision)
}

// onlyPrecision is the precision of versions whose runs do not record it.
const onlyPrecision = "fp32"

// imported is the Origin of a run imported from PyTorch.
const imported = "imported"

// Weights returns the origin of the weights, like Run.Origin, and for an import the length of training here:
// "imported from PyTorch after 24 epochs".
func (m Model) Weights() string {
	l := m.Length()
	l.n, l.until, l.of = m.Result.Steps, "", ""
	if l.unit == "epoch" {
		l.n = m.Result.Epochs
	}
	return strings.Replace(m.Run.Origin, imported, imported+" from PyTorch after "+l.String(), 1)
}

// edited returns the settings whose values in config.json and in the newest checkpoint differ. Then the file
// was edited: the weights do not belong to these settings, and training refuses to resume.
func (r *Run) edited(checkpoint string) (keys []string, err error) {
	if checkpoint == "" {
		return nil, nil
	}
	was, now := map[string]string{}, map[string]string{}
	for text, to := range map[string]map[string]string{checkpoint: was, string(r.Config.JSON): now} {
		if err := addSettings(to, "", []byte(text)); err != nil {
			return nil, fmt.Errorf("%s: the configuration of its checkpoint, or config.json: %w", r.Dir, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		value, both := now[key] // versions may add settings
		if both && value != was[key] && !IsIncidental(key) && !IsLength(key) &&
			!slices.Contains(config.PathKeys(), key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// changedSetting matches the text in environment.json about a setting that was changed in a run.
var changedSetting = regexp.MustCompile(`^(\S+) was .* and is .* after step \d+$`)

// originOf returns what a change in environment.json implies for the weights; "" if nothing, for another
// machine or more steps at a constant learning rate.
func originOf(changed, schedule string) string {
	if strings.HasPrefix(changed, runlog.ImportedFrom) {
		return imported
	}
	found := changedSetting.FindStringSubmatch(changed)
	isLonger := found != nil && IsLength(found[1]) && (schedule == config.Constant || schedule == "")
	if found == nil || isLonger || IsIncidental(found[1]) {
		return ""
	}
	return changed
}
