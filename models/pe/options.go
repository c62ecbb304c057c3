package pe

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Option is one setting of a scheme, and a flag on the command line. Where the paper's text and the
// published code differ, the option has a default for each reading.
type Option struct {
	Name       string // as a flag, without the dashes
	Default    string // in both readings; "" where Text and Code differ
	Text, Code string // defaults in the two readings
	Help       string
	Check      func(value string) error
	// Later marks an option that was added after its scheme had runs. Configurations omit it at its
	// default, so that old configurations compare equal.
	Later bool
}

// later returns the option for a scheme that had runs before.
func later(o Option) Option {
	o.Later = true
	return o
}

// Options holds a scheme's settings by name. Once resolved, every option of the scheme has a valid
// value.
type Options map[string]string

// Text returns a setting.
func (o Options) Text(name string) string { return o[name] }

// Float returns a numeric setting.
func (o Options) Float(name string) float64 {
	v, _ := strconv.ParseFloat(o[name], 64)
	return v
}

// Int returns a whole-number setting.
func (o Options) Int(name string) int {
	v, _ := strconv.Atoi(o[name])
	return v
}

// Bool returns a yes/no setting.
func (o Options) Bool(name string) bool { return o[name] == "true" }

// Options that several schemes share; those of rotations are in rotary.go, those of sinusoids in
// sinusoid.go.
var (
	placement = Option{Name: "pe-placement", Text: "input", Code: "block",
		Check: oneOf("input", "block"),
		Help: "where an absolute PE is added: once at the input, " +
			"or at the input of every block (own table each)"}
	positionsFrom = Option{Name: "positions-from", Text: "1", Code: "0", Check: oneOf("0", "1"),
		Help: "number of the first position in sinusoids and rotations"}
	fixedDropout = Option{Name: "fixed-pe-dropout", Text: "0", Code: "0.1", Check: number(0, 1),
		Help: "dropout on the sum of token and fixed PE, also at evaluation " +
			"(as the published code has it)"}
	attentionBias = Option{Name: "attention-bias", Text: "true", Code: "false", Check: yesNo,
		Help: "biases in the projections of attention"}
	attentionInit = Option{Name: "attention-init", Text: "xavier", Code: "linear",
		Check: oneOf("xavier", "linear"),
		Help: "initial projections of attention: Xavier (torch.nn.MultiheadAttention) " +
			"or as a plain linear map"}
)

// notOneOf is the error of a value that is not among those listed.
type notOneOf struct {
	value  string
	values []string
}

func (e notOneOf) Error() string {
	return fmt.Sprintf("%q is not one of %s", e.value, strings.Join(e.values, ", "))
}

// oneOf checks that a value is among those listed.
func oneOf(values ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(values, v) {
			return notOneOf{v, values}
		}
		return nil
	}
}

// Choices lists the values of an option; nil where they are too many to list.
func (o Option) Choices() []string {
	var one notOneOf
	if errors.As(o.Check("\x00"), &one) {
		return one.values
	}
	return nil
}

// yesNo checks the value of an option that is on or off.
var yesNo = oneOf("true", "false")

// number checks that a value is a number in [low, high).
func number(low, high float64) func(string) error {
	return func(v string) error {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(x) || x < low || x >= high {
			return fmt.Errorf("%q is not a number in [%g, %g)", v, low, high)
		}
		return nil
	}
}

// whole checks that a value is a whole number from low to high.
func whole(low, high int) func(string) error {
	return func(v string) error {
		if x, err := strconv.Atoi(v); err != nil || x < low || x > high {
			return fmt.Errorf("%q is not a whole number from %d to %d", v, low, high)
		}
		return nil
	}
}

// positive checks that a value is a positive, finite number.
func positive(v string) error {
	if x, err := strconv.ParseFloat(v, 64); err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%q is not a number above 0", v)
	}
	return nil
}

// positiveUpTo checks that a value is a number above 0 and at most high.
func positiveUpTo(high float64) func(string) error {
	return func(v string) error {
		if x, err := strconv.ParseFloat(v, 64); err != nil || !(x > 0) || x > high {
			return fmt.Errorf("%q is not a number above 0 and at most %g", v, high)
		}
		return nil
	}
}

// orWord returns a check that accepts the words and all that check accepts.
func orWord(check func(string) error, words ...string) func(string) error {
	return func(v string) error {
		if slices.Contains(words, v) {
			return nil
		}
		if err := check(v); err != nil {
			return fmt.Errorf("%w, nor %s", err, strings.Join(words, " or "))
		}
		return nil
	}
}
