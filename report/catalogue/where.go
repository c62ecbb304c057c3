package catalogue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/wording"
)

// field is a property of an entry that a condition can name.
type field struct {
	name string
	of   func(Entry) any // string, int, bool, or nil where it is not known
}

var fields = []field{
	{"name", func(e Entry) any { return e.Name }},
	{"year", func(e Entry) any { return e.Year }},
	{"family", func(e Entry) any { return e.Family }},
	{"acts_on", func(e Entry) any { return e.ActsOn }},
	{"needs", func(e Entry) any { return e.Needs }},
	{"reference", func(e Entry) any { return e.Reference }},
	{"parameters", func(e Entry) any {
		if e.Parameters == nil {
			return nil
		}
		return *e.Parameters
	}},
	{"causal", func(e Entry) any { return e.Causal }},
	{"extrapolates", func(e Entry) any { return e.Extrapolates }},
	{"trained", func(e Entry) any { return e.Trained }},
	{"sigma", func(e Entry) any { return e.Sigma }},
	{"inductive", func(e Entry) any { return e.Criteria.Inductive }},
	{"data_driven", func(e Entry) any { return e.Criteria.DataDriven }},
	{"parameter_efficient", func(e Entry) any { return e.Criteria.ParameterEfficient }},
	{"translation_invariant", func(e Entry) any { return e.Criteria.TranslationInvariant }},
	{"parallelizable", func(e Entry) any { return e.Criteria.Parallelizable }},
	{"interpretable", func(e Entry) any { return e.Criteria.Interpretable }},
	{"printed", func(e Entry) any { return e.Criteria.Printed }},
}

// FieldNames lists the keys of the conditions of Where.
func FieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// Where keeps the entries that meet every condition: key=value, key!=value, key>=value or
// key<=value. Texts are met by a part of them, whatever the case; yes and no stand for true and
// false.
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
	k := slices.IndexFunc(fields, func(f field) bool { return f.name == key })
	if k < 0 {
		return nil, fmt.Errorf("condition %q: unknown key %q%s; keys are %s",
			text, key, wording.Hint(key, FieldNames()), strings.Join(FieldNames(), ", "))
	}
	of := fields[k].of
	switch of(Entry{Parameters: new(int)}).(type) {
	case int:
		want, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("condition %q: %q is not a whole number", text, value)
		}
		return func(e Entry) bool {
			have, known := of(e).(int)
			switch sign {
			case "!":
				return known && have != want
			case "<":
				return known && have <= want
			case ">":
				return known && have >= want
			}
			return known && have == want
		}, nil
	case bool:
		want, known := map[string]bool{"yes": true, "true": true, "no": false,
			"false": false}[value]
		if !known || sign == "<" || sign == ">" {
			return nil, fmt.Errorf("condition %q: want %s=yes or %s=no", text, key, key)
		}
		return func(e Entry) bool { return (of(e) == want) == (sign == "=") }, nil
	}
	if sign == "<" || sign == ">" {
		return nil, fmt.Errorf("condition %q: %s is a text, which = and != compare", text, key)
	}
	return func(e Entry) bool {
		return strings.Contains(strings.ToLower(of(e).(string)),
			strings.ToLower(value)) == (sign == "=")
	}, nil
}
