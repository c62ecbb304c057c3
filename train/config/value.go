package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"torchpe/internal/wording"
)

// field is the path to a value in a struct: the indexes of a field and of fields within it.
type field [][]int

// findField returns the field with a JSON key, in which dots separate names of inner objects, and
// its type. It panics for a key without a field, a mistake in the table.
func findField(t reflect.Type, key string) (f field, of reflect.Type) {
	for name := range strings.SplitSeq(key, ".") {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == name
		})
		if i < 0 {
			panic("no field has the key " + key)
		}
		f, t = append(f, fields[i].Index), fields[i].Type
	}
	return f, t
}

func fieldOf(key string) field {
	f, _ := findField(reflect.TypeFor[Config](), key)
	return f
}

// in returns the field of a struct, or the zero Value if a pointer on its path is nil.
func (f field) in(object any) reflect.Value {
	v := reflect.ValueOf(object)
	for _, index := range f {
		if v = reflect.Indirect(v); !v.IsValid() {
			return v
		}
		v = v.FieldByIndex(index)
	}
	return v
}

// values returns the fields of the setting in a configuration: one, one per member, or none.
func (s Setting) values(c *Config) (all []reflect.Value) {
	if s.IsMember() {
		for i := range c.Members {
			all = append(all, s.fields[0].in(&c.Members[i]))
		}
		return all
	}
	for _, f := range s.fields {
		if v := f.in(c); v.IsValid() {
			return []reflect.Value{v}
		}
	}
	return nil
}

// set stores a value in a field of its type or of a pointer to it; nil stores the zero value.
func set(place reflect.Value, value any) {
	v := reflect.ValueOf(value)
	switch {
	case !v.IsValid():
		place.SetZero()
	case place.Kind() == reflect.Pointer && v.Kind() != reflect.Pointer:
		place.Set(reflect.New(v.Type()))
		place.Elem().Set(v)
	default:
		place.Set(v)
	}
}

// reset stores the default of a preset in a reading of the paper.
func (s Setting) reset(c *Config, preset, fidelity string) {
	value := s.Default
	for _, name := range []string{fidelity, keyOfPreset(preset)} {
		if other, ok := s.DefaultFor[name]; ok {
			value = other
		}
	}
	for _, v := range s.values(c) {
		if value != nil {
			set(v, value)
		}
	}
}

func (d defaults) String() string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		text := textOf(reflect.ValueOf(d[name]))
		names[text] = append(names[text], name)
	}
	var parts []string
	for _, text := range slices.Sorted(maps.Keys(names)) {
		parts = append(parts, strings.Join(names[text], ", ")+": "+text)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// Choices lists the values of the flag, or nil if it is not a choice among words.
func (s Setting) Choices() []string {
	if _, ok := s.kind.(bool); ok {
		return []string{"true", "false"}
	}
	return s.OneOf
}

// faults lists the errors of a value by itself. whose follows the value in the messages.
func (s Setting) faults(v reflect.Value, whose string) (all []string) {
	v = reflect.Indirect(v)
	switch {
	case !v.IsValid(): // a nil pointer
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.String:
		var before []any
		for i := range v.Len() {
			e := v.Index(i)
			all = append(all, s.faults(e, whose)...)
			equal := func(v any) bool { return reflect.DeepEqual(v, e.Interface()) } // pointers, too
			if slices.ContainsFunc(before, equal) {
				all = append(all, textOf(e)+" is given twice")
			}
			before = append(before, e.Interface())
		}
	case s.OneOf != nil && !slices.Contains(s.OneOf, v.String()):
		all = []string{fmt.Sprintf("%q is not one of %s%s", v.String(), strings.Join(s.OneOf, ", "),
			wording.Hint(v.String(), s.OneOf))}
		if instead, ok := s.Gone[v.String()]; ok {
			all[0] += "; " + instead
		}
	case s.Range != "":
		if fault := s.bounds.fault(v.Convert(reflect.TypeFor[float64]()).Float()); fault != "" {
			all = []string{textOf(v) + whose + fault}
		}
	}
	return all
}

// bounds is the interval that Range writes as "[low, high)": a bracket includes its end.
type bounds struct {
	text              string
	low, high         float64
	withLow, withHigh bool
}

// parseBounds reads the text of an interval. It panics for a mistake in the table.
func parseBounds(text string) bounds {
	if text == "" {
		return bounds{}
	}
	from, to, _ := strings.Cut(text[1:len(text)-1], ", ")
	low, err := strconv.ParseFloat(from, 64)
	high, err2 := strconv.ParseFloat(to, 64)
	if errors.Join(err, err2) != nil {
		panic("no range: " + text)
	}
	return bounds{text, low, high, text[0] == '[', text[len(text)-1] == ']'}
}

// fault returns the error of a number, such as " is not in [1, 1024]", or "".
func (b bounds) fault(x float64) string {
	switch {
	case x < b.low && math.IsInf(b.high, 1):
		return fmt.Sprintf(" is less than %g", b.low)
	case x > b.low && x < b.high, x == b.low && b.withLow, x == b.high && b.withHigh:
		return ""
	}
	return " is not in " + b.text
}

// textOf writes a value as in the help.
func textOf(v reflect.Value) string {
	if v = reflect.Indirect(v); !v.IsValid() {
		return ""
	}
	switch x := v.Interface().(type) {
	case Duration:
		return time.Duration(x).String()
	case Member:
		return fmt.Sprintf("the model of seed %d", x.Seed)
	case []float64:
		texts := make([]string, len(x))
		for i := range x {
			texts[i] = textOf(v.Index(i))
		}
		return "[" + strings.Join(texts, ",") + "]"
	case []int, []string, Surrogate:
		return ""
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}
