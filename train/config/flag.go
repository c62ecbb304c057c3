package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Flag holds the value of a setting's flag until it is stored. It has the methods of pflag.Value.
type Flag struct {
	setting Setting
	value   any // the default until a text is given; nil where the zero value is
	given   bool
}

// NewFlag returns a flag that holds the default. Members' flags hold a list: one value for all
// members, or one a member.
func (s Setting) NewFlag() *Flag {
	f := &Flag{setting: s, value: s.Default}
	if s.IsMember() && s.Default != nil {
		f.value = []float64{s.Default.(float64)}
	}
	return f
}

// Set reads the text of a flag. Lists grow when their flag is given again.
func (f *Flag) Set(text string) error {
	v, err := f.setting.parse(text)
	switch {
	case err != nil && f.setting.Sweep == Axis && strings.Contains(text, ","):
		return fmt.Errorf("%w; torchpe sweep takes several values", err)
	case err != nil:
		return err
	}
	before, after := reflect.ValueOf(f.value), reflect.ValueOf(v)
	if f.given && v != nil && f.value != nil && after.Kind() == reflect.Slice {
		v = reflect.AppendSlice(before, after).Interface()
	}
	f.value, f.given = v, true
	return nil
}

// Numbers returns the values of a flag that takes a list of numbers.
func (f *Flag) Numbers() []float64 {
	all, _ := f.value.([]float64)
	return all
}

// String returns the value as --help shows it.
func (f *Flag) String() string {
	switch s := f.setting; {
	case f.value != nil:
		return textOf(reflect.ValueOf(f.value))
	case s.Zero != "" || s.IsMember():
		return s.Zero
	default:
		return textOf(reflect.ValueOf(s.kind))
	}
}

// Type names the type of the flag as pflag does. A word such as auto makes a text of a number.
func (f *Flag) Type() string {
	_, err := strconv.ParseFloat(f.setting.Zero, 64)
	isWord := f.setting.Zero != "" && err != nil
	switch v := f.setting.taken.(type) {
	case []string:
		return "stringArray"
	case []int, []float64:
		if isWord {
			return "stringSlice"
		}
		return "float64Slice"
	case Duration:
		return "duration"
	case *Surrogate:
		return "string"
	default:
		if isWord {
			return "string"
		}
		return strings.TrimPrefix(fmt.Sprintf("%T", v), "*")
	}
}

// fault returns what is wrong with the given value by itself.
func (f *Flag) fault() error {
	var all []error
	for _, fault := range f.setting.faults(reflect.ValueOf(f.value), "") {
		all = append(all, errors.New(fault))
	}
	return errors.Join(all...)
}

// parse reads the text of a flag as what its field holds; nil is the zero value.
func (s Setting) parse(text string) (any, error) {
	if s.Zero != "" && text == s.Zero {
		return nil, nil
	}
	if s.Parse != nil {
		return s.Parse(text)
	}
	switch s.taken.(type) {
	case string:
		return text, nil
	case []string:
		return []string{text}, nil
	case int, *int:
		return s.parseInt(text)
	case uint64:
		v, err := strconv.ParseUint(text, 0, 64)
		return v, s.explain(err, text, "a whole number")
	case float64, *float64:
		return s.parseFloat(text)
	case bool, *bool:
		v, err := strconv.ParseBool(text)
		return v, s.explain(err, text, "true, false")
	case Duration:
		var v Duration
		err := v.UnmarshalText([]byte(text))
		return v, err
	case []int:
		return list(text, s.parseInt)
	case []float64:
		return list(text, s.parseFloat)
	}
	panic("no flag holds a value of " + s.Key)
}

func (s Setting) parseInt(text string) (int, error) {
	v, err := strconv.ParseInt(text, 0, 64)
	return int(v), s.explain(err, text, "a whole number")
}

func (s Setting) parseFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	return v, s.explain(err, text, "a number")
}

// list reads numbers and ranges from:to:step, separated by commas.
func list[T any](text string, parse func(string) (T, error)) (all []T, err error) {
	for part := range strings.SplitSeq(text, ",") {
		values, err := Expand(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			v, err := parse(value)
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
	return all, nil
}

// explain rewrites an error of package strconv for people.
func (s Setting) explain(err error, text, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is out of range", text)
	case s.Zero != "":
		what += " or the word " + s.Zero
	}
	return fmt.Errorf("%q is not %s", text, what)
}
