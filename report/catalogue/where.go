package catalogue

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// fieldNames lists the keys of conditions. They are JSON keys of an entry or of its criteria.
var fieldNames = []string{"name", "year", "family", "acts_on", "needs", "reference", "parameters", "causal",
	"extrapolates", "trained", "sigma", "inductive", "data_driven", "parameter_efficient",
	"translation_invariant", "parallelizable", "interpretable", "printed"}

// FieldNames lists the keys of the conditions of Where.
func FieldNames() []string { return slices.Clone(fieldNames) }

// field returns the JSON value of a key: a text, a number, a bool, or nil if it is not known.
func (e Entry) field(key string) any {
	values := map[string]any{}
	for _, part := range []any{e, e.Criteria} {
		body, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(body, &values)
		}
		if err != nil {
			panic(err) // texts, numbers and bools have JSON
		}
	}
	return values[key]
}

// Where keeps the entries that meet every condition: key=value, key!=value, key>=value or key<=value. A
// text matches if it contains the value, in any case. yes and no stand for true and false.
func Where(all []Entry, conditions []string) ([]Entry, error) {
	kept := slices.Clone(all)
	for _, c := range conditions {
		meets, err := condition(c)
		if err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(e Entry) bool { return !meets(e) })
	}
	return kept, nil
}

func condition(text string) (meets func(Entry) bool, err error) {
	at := strings.Index(text, "=")
	if at < 1 {
		return nil, fmt.Errorf("condition %q: want key=value, key!=value, key>=value or key<=value",
			text)
	}
	key, sign, value := text[:at], "=", text[at+1:]
	if last := key[len(key)-1:]; last == "!" || last == "<" || last == ">" {
		key, sign = key[:len(key)-1], last
	}
	if !slices.Contains(fieldNames, key) {
		return nil, fmt.Errorf("condition %q: unknown key %q%s; keys are %s",
			text, key, wording.Hint(key, fieldNames), strings.Join(fieldNames, ", "))
	}
	switch (Entry{Parameters: new(int)}).field(key).(type) {
	case float64:
		want, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("condition %q: %q is not a whole number", text, value)
		}
		return func(e Entry) bool {
			have, known := e.field(key).(float64)
			order := cmp.Compare(have, float64(want))
			return known && map[string]bool{"!": order != 0, "<": order <= 0, ">": order >= 0, "=": order == 0}[sign]
		}, nil
	case bool:
		want, known := map[string]bool{"yes": true, "true": true, "no": false,
			"false": false}[value]
		if !known || sign == "<" || sign == ">" {
			return nil, fmt.Errorf("condition %q: want %s=yes or %s=no", text, key, key)
		}
		return func(e Entry) bool { return (e.field(key) == want) == (sign == "=") }, nil
	}
	if sign == "<" || sign == ">" {
		return nil, fmt.Errorf("condition %q: %s is a text, which = and != compare", text, key)
	}
	return func(e Entry) bool {
		return strings.Contains(strings.ToLower(e.field(key).(string)),
			strings.ToLower(value)) == (sign == "=")
	}, nil
}
