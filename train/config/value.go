package config

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is the typed half of a Setting; Field implements it.
type Value interface {
	NewFlag() Flag
	Choices() []string // all values of the flag, nil where they are too many
	reset(c *Config, preset, fidelity string)
	check(c *Config, flag string, bad *Problems)
	others() string // the defaults but the first, in brackets
	schema() map[string]any
	at(field path) Value       // the value of this field
	texts(c *Config) []*string // the texts that the value is made of
}

// Flag holds the value of a flag until it is stored. It has the methods of pflag.Value.
type Flag interface {
	Set(text string) error
	String() string
	Type() string
	store(c *Config) error // returns the mistake in the text of flags that take words
	storesItself() bool    // whether it makes the place for its value
}

// Field is the value of a setting: its default, checks and place.
type Field[T any] struct {
	Default    T
	DefaultFor map[string]T               // other defaults, by preset or fidelity
	Check      func(v T) error            // returns what is wrong with a value
	Ref        func(c *Config) *T         // where the value is, if not in the field of the setting's key
	Store      func(c *Config, v T) error // stores what a flag gave; nil: in the field
	Stored     func(c *Config)            // called after a flag was stored: resets what depends on it
	Words      *words[T]                  // reads flags that take words; nil: by T
	Shown      string                     // what the help shows for the default, where that is zero
	OneOf      []string                   // the values of a text, checked

	path path // of the field in Config
}

func (o Field[T]) at(field path) Value {
	o.path = field
	return o
}

// ref returns the field of a configuration that has it.
func (o Field[T]) ref(c *Config) *T {
	if o.Ref != nil {
		return o.Ref(c)
	}
	return o.path.in(c).Addr().Interface().(*T)
}

// path is the place of a field in a struct and those within it.
type path [][]int

// pathOf finds the field that JSON calls key, names of inner objects before a dot; nil for none.
func pathOf(t reflect.Type, key string) (p path) {
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
			return nil
		}
		p, t = append(p, fields[i].Index), fields[i].Type
	}
	return p
}

// in returns the field in a struct that has it.
func (p path) in(object any) reflect.Value {
	v := reflect.ValueOf(object)
	for _, index := range p {
		v = reflect.Indirect(v).FieldByIndex(index)
	}
	return v
}

// words reads and writes a value that is more than the text of its type.
type words[T any] struct {
	kind  string // "string", or "stringSlice" where commas separate texts
	parse func(texts []string) (T, error)
	text  func(v T) string
}

// others lists defaults other than the first.
func others[T any](by map[string]T) string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		text := textOf(by[name])
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

// Choices lists the values of the flag; nil where they are too many to list.
func (o Field[T]) Choices() []string {
	if _, ok := any(o.Default).(bool); ok {
		return []string{"true", "false"}
	}
	return o.OneOf
}

func (o Field[T]) others() string { return others(o.DefaultFor) }

func (o Field[T]) texts(c *Config) (texts []*string) {
	switch v := any(o.ref(c)).(type) {
	case *string:
		texts = []*string{v}
	case *[]string:
		for i := range *v {
			texts = append(texts, &(*v)[i])
		}
	}
	return texts
}

// ofText is the key in By of preset text, whose name is that of a reading of the paper.
const ofText = "task text"

// presetKey returns the key of a preset in DefaultFor.
func presetKey(preset string) string {
	if preset == "text" {
		return ofText
	}
	return preset
}

// reset stores the default of a preset in a reading of the paper.
func (o Field[T]) reset(c *Config, preset, fidelity string) {
	v := o.Default
	for _, name := range []string{fidelity, presetKey(preset)} {
		if other, ok := o.DefaultFor[name]; ok {
			v = other
		}
	}
	*o.ref(c) = v
}

func (o Field[T]) check(c *Config, flag string, bad *Problems) {
	v := *o.ref(c)
	if text := fmt.Sprint(v); o.OneOf != nil && !(text == "" && o.Shown != "") {
		bad.oneOf(flag, text, o.OneOf...)
	}
	if o.Check != nil {
		if err := o.Check(v); err != nil {
			bad.Add("--%s: %v", flag, err)
		}
	}
}

// NewFlag returns a flag that holds the default.
func (o Field[T]) NewFlag() Flag { return &flagOf[T]{of: o, value: o.Default} }

type flagOf[T any] struct {
	of    Field[T]
	value T
	texts []string // given so far
}

// Set reads the text of a flag. Lists grow when their flag is given again.
func (f *flagOf[T]) Set(text string) (err error) {
	again := f.texts != nil
	if f.of.Words != nil { // read by Store, so that all mistakes are reported together
		texts := []string{text}
		if f.of.Words.kind == "stringSlice" {
			texts, err = split(text)
		} else {
			f.texts = nil
		}
		f.texts = append(f.texts, texts...)
		return err
	}
	f.texts = append(f.texts, text)
	return parse(&f.value, text, again)
}

// String returns the value as --help shows it.
func (f *flagOf[T]) String() string {
	switch {
	case f.of.Words != nil && f.texts != nil:
		return strings.Join(f.texts, ",")
	case f.texts == nil && f.of.Shown != "":
		return f.of.Shown
	case f.of.Words != nil && f.of.Words.text != nil:
		return f.of.Words.text(f.value)
	}
	return textOf(f.value)
}

// Type names the type as pflag does.
func (f *flagOf[T]) Type() string {
	if f.of.Words != nil {
		return f.of.Words.kind
	}
	return typeOf(f.value)
}

func (f *flagOf[T]) storesItself() bool { return f.of.Store != nil || f.of.Stored != nil }

// store puts the value into a configuration.
func (f *flagOf[T]) store(c *Config) error {
	if f.of.Words != nil {
		var err error
		if f.value, err = f.of.Words.parse(f.texts); err != nil {
			return err
		}
	}
	if f.of.Store != nil {
		return f.of.Store(c, f.value)
	}
	*f.of.ref(c) = f.value
	if f.of.Stored != nil {
		f.of.Stored(c)
	}
	return nil
}

// typeOf returns the type of a flag as pflag names it.
func typeOf(v any) string {
	switch v.(type) {
	case *int:
		return "int"
	case *float64:
		return "float64"
	case Duration:
		return "duration"
	case []float64:
		return "float64Slice"
	case []string:
		return "stringArray"
	}
	return fmt.Sprintf("%T", v)
}

// textOf writes a value as the help does.
func textOf(v any) string {
	switch v := v.(type) {
	case Duration:
		return time.Duration(v).String()
	case []float64:
		texts := make([]string, len(v))
		for i, x := range v {
			texts[i] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		return "[" + strings.Join(texts, ",") + "]"
	case *int, *float64, []string:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// parse reads text into a value; a list that was given before grows.
func parse(into any, text string, again bool) (err error) {
	switch v := into.(type) {
	case *string:
		*v = text
	case *int:
		*v, err = parseInt(text)
	case **int:
		var n int
		n, err = parseInt(text)
		*v = &n
	case *uint64:
		*v, err = strconv.ParseUint(text, 0, 64)
		err = plainError(err, text, "a whole number")
	case *float64:
		*v, err = parseFloat(text)
	case **float64:
		var x float64
		x, err = parseFloat(text)
		*v = &x
	case *bool:
		*v, err = strconv.ParseBool(text)
		if err != nil {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	case *Duration:
		err = v.UnmarshalText([]byte(text))
	case *[]string:
		if !again {
			*v = nil
		}
		*v = append(*v, text)
	case *[]float64:
		if !again {
			*v = []float64{}
		}
		for part := range strings.SplitSeq(text, ",") {
			x, err := parseFloat(part)
			if err != nil {
				return err
			}
			*v = append(*v, x)
		}
	default:
		panic(fmt.Sprintf("no flag holds a %T", into))
	}
	return err
}

func parseInt(text string) (int, error) {
	v, err := strconv.ParseInt(text, 0, 64)
	return int(v), plainError(err, text, "a whole number")
}

func parseFloat(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	return v, plainError(err, text, "a number")
}

// plainError rewrites an error of package strconv for people.
func plainError(err error, text, what string) error {
	switch {
	case err == nil:
		return nil
	case strings.HasSuffix(err.Error(), strconv.ErrRange.Error()):
		return fmt.Errorf("%q is out of range", text)
	}
	return fmt.Errorf("%q is not %s", text, what)
}

// split separates texts at commas, as pflag does.
func split(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	return csv.NewReader(strings.NewReader(text)).Read()
}

// in checks that a number lies in [low, high].
func in[T int | float64](low, high float64) func(T) error {
	return func(v T) error {
		if x := float64(v); math.IsNaN(x) || x < low || x > high {
			return fmt.Errorf("%s is not in [%s, %s]", number(x), number(low), number(high))
		}
		return nil
	}
}

// number returns a number as a person writes it: 16777216, 2e6, 0.5.
func number(x float64) string {
	digits, power := strconv.FormatFloat(x, 'f', -1, 64), strconv.FormatFloat(x, 'e', -1, 64)
	power = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(power)
	if len(power) < len(digits) {
		return power
	}
	return digits
}

// atLeast checks that a number is not below a bound.
func atLeast(low int) func(int) error {
	return func(v int) error {
		if v < low {
			return fmt.Errorf("%d is less than %d", v, low)
		}
		return nil
	}
}

// ifGiven checks a value that may be left out.
func ifGiven[T any](check func(T) error) func(*T) error {
	return func(v *T) error {
		if v == nil {
			return nil
		}
		return check(*v)
	}
}

// positive checks that a number is above 0.
func positive(v float64) error {
	if !(v > 0 && v <= 1e6) {
		return fmt.Errorf("%g is not in (0, 1e6]", v)
	}
	return nil
}

// belowOne checks that a probability is not 1.
func belowOne(p float64) error {
	if !(p >= 0 && p < 1) {
		return fmt.Errorf("%g is not in [0, 1)", p)
	}
	return nil
}
