package config

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
	"torchpe/internal/paper"
)

// Flag holds the value of a setting's flag until it is stored. It implements pflag.Value.
type Flag struct {
	setting Setting
	value   any // the default until a text is given; nil stands for the zero value
	given   bool
}

// NewFlag returns a flag that holds the default. Members' flags hold a list: one value for all
// members, or one per member.
func (s Setting) NewFlag() *Flag {
	f := &Flag{setting: s, value: s.Default}
	if s.IsMember() && s.Default != nil {
		f.value = []float64{s.Default.(float64)}
	}
	return f
}

// Set reads the text of a flag. Of several, lists of texts keep all; others keep the last, which train refuses.
func (f *Flag) Set(text string) error {
	v, err := f.setting.parse(text)
	switch {
	case err != nil && f.setting.Sweep == Axis && strings.Contains(text, ","):
		return fmt.Errorf("%w; torchpe sweep takes several values", err)
	case err != nil:
		return err
	}
	if texts, ok := v.([]string); ok && f.given {
		before, _ := f.value.([]string)
		v = slices.Concat(before, texts)
	}
	f.value, f.given = v, true
	return nil
}

// Numbers returns the values of a flag for a list of numbers.
func (f *Flag) Numbers() []float64 {
	all, _ := f.value.([]float64)
	return all
}

// String returns the value as --help has it.
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

// Type names the type of the flag as pflag does. A number that may be a word such as auto is a
// string.
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

// fault checks the given value by itself.
func (f *Flag) fault() error {
	var all []error
	for _, fault := range f.setting.faults(reflect.ValueOf(f.value), "") {
		all = append(all, errors.New(fault))
	}
	return errors.Join(all...)
}

// parse converts the text of a flag to its field's type; nil is the zero value.
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
		v, err := strconv.ParseUint(text, 10, 64)
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
	v, err := strconv.ParseInt(text, 10, 64)
	return int(v), s.explain(err, text, "a whole number")
}

func (s Setting) parseFloat(text string) (float64, error) {
	v, err := number.Parse(text)
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

// explain rewrites an error of package strconv for users.
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

// maxValues is the largest length of a range: more values are a typing error.
const maxValues = 10_000

// Expand returns the values of one part of a list: all of a range from:to:step, else the part
// itself.
func Expand(part string) ([]string, error) {
	switch ends := strings.Split(part, ":"); len(ends) {
	case 3:
		return Range(ends[0], ends[1], ends[2])
	case 2:
		_, from := exact(ends[0])
		_, to := exact(ends[1])
		if from == nil && to == nil {
			return nil, fmt.Errorf("%q has no step: a range is from:to:step, such as 0.1:2:0.1", part)
		}
	}
	return []string{part}, nil
}

// Range returns from, from+step, ..., to, exactly: 0.1 to 2 in tenths has 20 values. The steps must reach the end.
func Range(from, to, step string) ([]string, error) {
	var numbers [3]*big.Rat
	for i, text := range []string{from, to, step} {
		x, err := exact(text)
		if err != nil {
			return nil, fmt.Errorf("range: %s: %w", []string{"from", "to", "step"}[i], err)
		}
		numbers[i] = x
	}
	x, last, by := numbers[0], numbers[1], numbers[2]
	rises := by.Sign()
	if rises == 0 {
		return nil, fmt.Errorf("range: step %s does not change %s", step, from)
	}
	if d := last.Cmp(x); d != 0 && d != rises {
		return nil, fmt.Errorf("range: step %s leads away from %s", step, to)
	}
	var out []string
	for ; x.Cmp(last) != rises; x = new(big.Rat).Add(x, by) {
		if len(out) == maxValues {
			return nil, fmt.Errorf("range: more than %d values", maxValues)
		}
		f, _ := x.Float64()
		out = append(out, strconv.FormatFloat(f, 'g', -1, 64))
	}
	if new(big.Rat).Sub(x, by).Cmp(last) != 0 {
		next, _ := x.Float64()
		return nil, fmt.Errorf("range: step %s does not reach %s: end with %s or %g", step, to, out[len(out)-1], next)
	}
	return out, nil
}

// exact reads a decimal number between 1e-18 and 1e18 exactly.
func exact(text string) (*big.Rat, error) {
	f, err := number.Parse(text)
	if err != nil || f != f || f > 1e18 || f < -1e18 || f != 0 && f < 1e-18 && f > -1e-18 {
		return nil, fmt.Errorf("%q is not a number between 1e-18 and 1e18", text)
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return x, nil
}

// ParseSeeds reads the seeds of --seeds: the single word paper, or whole numbers and ranges
// separated by commas. A range is from:to, from..to or from:to:step.
func ParseSeeds(text string) (seeds []uint64, err error) {
	if strings.TrimSpace(text) == "paper" {
		return paper.Seeds(), nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		values := []string{part}
		ends := strings.Split(strings.Replace(part, "..", ":", 1), ":")
		if n := len(ends); n == 2 || n == 3 {
			if values, err = Range(ends[0], ends[1], append(ends, "1")[2]); err != nil {
				return nil, fmt.Errorf("%s: %w", part, err)
			}
		}
		for _, v := range values {
			seed, err := strconv.ParseUint(v, 10, 63) // records have signed integers
			if err != nil {
				return nil, fmt.Errorf("%q is not a seed: give whole numbers from 0 to 2^63-1, ranges such as "+
					"1:15, or the single word paper", v)
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
