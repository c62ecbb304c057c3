// Records and results of torchpe 0.1.0, which have a JSON key for each number and each map of
// numbers instead of "measures".

package runlog

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// currentNames maps names of torchpe 0.1.0, in lower case, to current ones: keys of its files,
// families, and labels of puzzles.
var currentNames = map[string]string{
	"loss": "loss", "train_accuracy": "train", "iid_accuracy": "iid", "validation_accuracy": "validation",
	"validation_by_condition": "validation", "validation_by_lines": "validation_lines",
	"accuracy_by_tokens": "tokens", "accuracy_by_tokens_and_condition": "tokens", "accuracy_by_length": "length",
	"perplexity_by_length": "perplexity", "loss_by_position": "position_loss", "noise_accuracy": "noise",
	"train_mse": "train_mse", "test_mse_by_mask": "test_mse",
	"modularity": "modularity", "modularity_by_block": "modularity",
	"clustering": "clustering", "clustering_by_block": "clustering",
	"pe_norm": "pe_norm", "pe_effective_rank": "pe_effective_rank", "tangent_alignment": "tangent_alignment",
	"moved": "pe_moved", "gradient_share": "pe_gradient_share", "disparity": "pe_disparity",
	"cosine": "pe_cosine", "start_cosine": "pe_start_cosine",
	"binary": "1-vector", "ternary": "2-vector", "quaternary": "3-vector",
}

// currentName returns the key for a name of torchpe 0.1.0, such as validation_Binary or
// test_mse_0.50, or "" for other names.
func currentName(old string) string {
	if key := currentNames[strings.ToLower(old)]; key != "" {
		if m, ok := FindMeasure(key); ok && !m.IsFamily() {
			return key
		}
	}
	for _, m := range measures {
		given, ok := strings.CutPrefix(old, m.Family()+"_")
		parts := strings.Split(given, "_")
		if !ok || len(parts) != strings.Count(m.Key, "/") {
			continue
		}
		key := m.Family()
		for _, part := range parts {
			key += "/" + currentPart(part)
		}
		if m.has(key) {
			return key
		}
	}
	return ""
}

// currentPart returns the current name of a part of a key, such as 1-vector for Binary.
func currentPart(old string) string { return cmp.Or(currentNames[strings.ToLower(old)], old) }

// oldMeasures reads the numbers of a record or a member's result of torchpe 0.1.0, and the map of
// its encoding. It omits nulls, which were numbers that were not finite or not measured.
func oldMeasures(text []byte) (Numbers, [][2]float64, error) {
	var object map[string]any
	var motion struct {
		PEMotion struct {
			Map [][2]float64 `json:"map"`
		} `json:"pe_motion"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &motion); err != nil {
		return nil, nil, err
	}
	numbers := Numbers{}
	if inner, ok := object["pe_motion"].(map[string]any); ok {
		delete(inner, "map")
		addOld(numbers, inner)
	}
	addOld(numbers, object)
	return numbers, motion.PEMotion.Map, nil
}

// addOld adds the numbers of an object whose keys are those of torchpe 0.1.0.
func addOld(to Numbers, object map[string]any) {
	for name, value := range object {
		if key := currentNames[name]; key != "" {
			addValue(to, key, value)
		}
	}
}

// addValue adds a number, or the numbers of an object or list with their keys after a slash.
func addValue(to Numbers, key string, value any) {
	switch v := value.(type) {
	case float64:
		to[key] = v
	case map[string]any:
		for part, inner := range v {
			addValue(to, key+"/"+currentPart(part), inner)
		}
	case []any:
		for i, inner := range v {
			addValue(to, key+"/"+strconv.Itoa(i), inner)
		}
	}
}
