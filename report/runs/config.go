package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Config is what the analysis of a run needs of its config.json.
type Config struct {
	Task      string            `json:"task"` // lst, nmar, fmri or masked
	Fidelity  string            `json:"fidelity"`
	PE        string            `json:"pe"`
	PEOptions map[string]string `json:"pe_options"`
	Members   []Member          `json:"members"`
	Heads     int               `json:"heads"`
	Layers    int               `json:"layers"`
	DModel    int               `json:"d_model"`
	Optimizer string            `json:"optimizer"`
	ReadOut   string            `json:"read_out"`
	Batch     int               `json:"batch"`
	Epochs    int               `json:"epochs"` // of task lst
	Steps     int               `json:"steps"`  // of masked prediction
	DataSeed  uint64            `json:"data_seed"`
	LSTTrain  []string          `json:"lst_train"`
	Masked    *Masked           `json:"masked"`
	// JSON is the whole object, without its schema version.
	JSON json.RawMessage `json:"-"`
}

// Member is what may differ between the members of a run.
type Member struct {
	Seed        uint64   `json:"seed"`
	Sigma       *float64 `json:"sigma"`
	LR          float64  `json:"lr"`
	WeightDecay float64  `json:"weight_decay"`

	PELR          *float64 `json:"pe_lr"` // of the PE's parameters; nil: the two above
	PEWeightDecay *float64 `json:"pe_weight_decay"`
}

// Masked are the settings of masked prediction.
type Masked struct {
	Level      float64   `json:"mask_level"`
	TestLevels []float64 `json:"test_levels"`
	Distance   string    `json:"pe_distance"`
	NMAR       *struct {
		Nodes   int     `json:"nodes"`
		Modules int     `json:"modules"`
		Frames  int     `json:"frames"`
		Scale   float64 `json:"scale"`
	} `json:"nmar"`
}

// Placement is where an absolute PE is added, "block" or "input"; empty where the scheme has no such option.
func (c Config) Placement() string { return c.PEOptions["pe-placement"] }

// The keys of config.json that do not tell one base from another: those that figures choose models by, at the top and in "masked",
// and those that change no result.
var (
	chosenBy   = []string{"pe", "pe_options", "members", "heads", "optimizer", "read_out", "fidelity", "epochs", "steps"}
	incidental = []string{"device", "threads", "checkpoint_every", "log_every", "limit_steps", "noise", "noise_repeats", "tensorboard"}
	maskChosen = []string{"mask_level", "test_levels", "pe_distance"}
)

// Base is the rest of the settings as text: two models of one base differ only in what figures choose models by (PE and its
// options, sigma, seed, learning rate, weight decay, heads, optimizer, read-out, fidelity, mask level, length of training).
func (c Config) Base() (string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.JSON, &all); err != nil {
		return "", err
	}
	for _, key := range slices.Concat(chosenBy, incidental) {
		delete(all, key)
	}
	if text := all["masked"]; len(text) > 0 && !bytes.Equal(text, []byte("null")) {
		var masked map[string]json.RawMessage
		if err := json.Unmarshal(text, &masked); err != nil {
			return "", err
		}
		for _, key := range maskChosen {
			delete(masked, key)
		}
		var err error
		if all["masked"], err = json.Marshal(masked); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(all) // with its keys in order
	return string(text), err
}

// Label names a model's encoding as the paper does: learn-0.2, 2d-fixed.
func Label(pe string, sigma *float64) string {
	if sigma == nil {
		return pe
	}
	text := strconv.FormatFloat(*sigma, 'f', -1, 64)
	if *sigma == math.Trunc(*sigma) {
		text += ".0"
	}
	return pe + "-" + text
}

// Settings are the configuration as text, by key; keys within objects are joined by dots. Members are left out.
func (c Config) Settings() (map[string]string, error) {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(c.JSON))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	delete(all, "members")
	flat := map[string]string{}
	flatten("", all, flat)
	return flat, nil
}

// Differences lists the settings in which configurations differ, by key, with the value of each; keys within objects are
// joined by dots. Members, which are models of their own, and incidental settings such as the device are left out.
func Differences(configs []Config) (keys []string, values map[string][]string, err error) {
	settings := make([]map[string]string, len(configs))
	for i, c := range configs {
		if settings[i], err = c.Settings(); err != nil {
			return nil, nil, fmt.Errorf("configuration %d: %w", i, err)
		}
	}
	values = map[string][]string{}
	for i, flat := range settings {
		for key, v := range flat {
			if values[key] == nil {
				values[key] = make([]string, len(configs))
			}
			values[key][i] = v
		}
	}
	return Differing(settings), values, nil
}

// Differing lists the keys of what Settings returned in which some differ, but for incidental ones, in order. A setting that one
// lacks has no text there.
func Differing(settings []map[string]string) (keys []string) {
	differ := map[string]bool{}
	seen := map[string]bool{}
	for _, flat := range settings {
		for key := range flat {
			if seen[key] {
				continue
			}
			seen[key] = true
			first, _, _ := strings.Cut(key, ".")
			if !slices.Contains(incidental, first) {
				differ[key] = slices.ContainsFunc(settings, func(s map[string]string) bool { return s[key] != settings[0][key] })
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

func flatten(prefix string, v any, into map[string]string) {
	object, ok := v.(map[string]any)
	if !ok {
		text, err := json.Marshal(v)
		if err != nil { // it was decoded from JSON
			text = fmt.Append(nil, v)
		}
		into[strings.TrimSuffix(prefix, ".")] = strings.Trim(string(text), `"`)
		return
	}
	for key, inner := range object {
		flatten(prefix+key+".", inner, into)
	}
}
