package pe

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"torchpe/internal/number"
)

// Option is one setting of a scheme, and a flag on the command line. It has a default for each
// reading, for the cases in which the paper's text and the published code differ.
type Option struct {
	Name       string // the flag, without dashes
	Text, Code string // defaults in the two readings
	Check      func(value string) error
	Help       string
	// Later marks an option that was added after its scheme had runs. Configurations omit it at its
	// default, so that old configurations compare equal.
	Later bool
	// Idle says with which setting of another option this one has no effect, "with --relative skew"; "" if it
	// has one, or nil if it always has.
	Idle func(given Options) string
}

// option returns an option with the same default in both readings.
func option(name, value string, check func(string) error, help string) Option {
	return Option{Name: name, Text: value, Code: value, Check: check, Help: help}
}

// inText returns the option with another default in the text's reading.
func (o Option) inText(value string) Option {
	o.Text = value
	return o
}

// idle returns the option marked as Idle where another option has a value; after "!", where it has another one.
func (o Option) idle(other, value string) Option {
	value, isOther := strings.CutPrefix(value, "!")
	o.Idle = func(given Options) string {
		if is, has := given[other]; has && (is == value) != isOther {
			return fmt.Sprintf("with --%s %s", other, is)
		}
		return ""
	}
	return o
}

// later returns the option marked as Later.
func (o Option) later() Option {
	o.Later = true
	return o
}

// direction returns the option that makes a scheme causal or not.
func direction(scheme, value string) Option {
	return option(scheme+"-direction", value, oneOf("causal", "bidirectional"),
		"whether tokens of "+scheme+" see only those before them")
}

// Options holds a scheme's settings by name. After Resolve, every option of the scheme has a valid value.
type Options map[string]string

// Float returns a numeric setting.
func (o Options) Float(name string) float64 {
	v, _ := strconv.ParseFloat(o[name], 64)
	return v
}

// Int returns an integer setting.
func (o Options) Int(name string) int {
	v, _ := strconv.Atoi(o[name])
	return v
}

// text returns a setting of the scheme being built. It panics if the scheme has no such option.
func (c Config) text(option string) string {
	v, ok := c.Options[option]
	if !ok {
		panic("pe: scheme " + c.scheme + " has no option " + option)
	}
	return v
}

// is reports whether a setting has the given value.
func (c Config) is(option, value string) bool { return c.text(option) == value }

// yes, float and int return the value of a setting.
func (c Config) yes(option string) bool { return c.is(option, "true") }

func (c Config) float(option string) float64 {
	c.text(option)
	return c.Options.Float(option)
}

// floats returns the numbers of a comma-separated setting.
func (c Config) floats(option string) (list []float64) {
	for part := range strings.SplitSeq(c.text(option), ",") {
		x, _ := strconv.ParseFloat(part, 64)
		list = append(list, x)
	}
	return list
}

func (c Config) int(option string) int {
	c.text(option)
	return c.Options.Int(option)
}

// Options that several families share.
var (
	placement = option("pe-placement", "block", oneOf("input", "block"),
		"where an absolute PE is added: once at the input, "+
			"or at the input of every block (each with its own table)").inText("input")
	positionsFrom = option("positions-from", "0", oneOf("0", "1"),
		"number of the first position in sinusoids and rotations").inText("1")
	attentionBias = option("attention-bias", "false", yesNo,
		"biases in the projections of attention").inText("true")
	attentionInit = option("attention-init", "linear", oneOf("xavier", "linear"),
		"initial projections of attention: Xavier (torch.nn.MultiheadAttention) "+
			"or as a plain linear map").inText("xavier")
)

// notOneOf is the error for a value that is not listed.
type notOneOf struct {
	value  string
	values []string
}

func (e notOneOf) Error() string {
	return fmt.Sprintf("%q is not one of %s", e.value, strings.Join(e.values, ", "))
}

// oneOf returns a check that a value is among values.
func oneOf(values ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(values, v) {
			return notOneOf{v, values}
		}
		return nil
	}
}

// Choices lists the values of an option, or nil if they cannot be listed.
func (o Option) Choices() []string {
	var one notOneOf
	if errors.As(o.Check("\x00"), &one) {
		return one.values
	}
	return nil
}

// yesNo checks the value of a boolean option.
var yesNo = oneOf("true", "false")

// between returns a check that a value is a number in [low, high).
func between(low, high float64) func(string) error {
	return func(v string) error {
		x, err := number.Parse(v)
		if err != nil || math.IsNaN(x) || x < low || x >= high {
			return fmt.Errorf("%q is not a number in [%g, %g)", v, low, high)
		}
		return nil
	}
}

// whole returns a check that a value is an integer from low to high.
func whole(low, high int) func(string) error {
	return func(v string) error {
		if x, err := strconv.Atoi(v); err != nil || x < low || x > high {
			return fmt.Errorf("%q is not a whole number from %d to %d", v, low, high)
		}
		return nil
	}
}

// listOf returns a check for comma-separated values that check accepts.
func listOf(values string, check func(string) error) func(string) error {
	return func(v string) error {
		for part := range strings.SplitSeq(v, ",") {
			if err := check(part); err != nil {
				return fmt.Errorf("%q is not a comma-separated list of %s: %w", v, values, err)
			}
		}
		return nil
	}
}

// positive checks that a value is a positive, finite number.
func positive(v string) error {
	if x, err := number.Parse(v); err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%q is not a number above 0", v)
	}
	return nil
}

// positives checks for comma-separated positive numbers.
var positives = listOf("numbers above 0", positive)

// positiveUpTo returns a check that a value is a number above 0 and at most high.
func positiveUpTo(high float64) func(string) error {
	return func(v string) error {
		if x, err := number.Parse(v); err != nil || !(x > 0) || x > high {
			return fmt.Errorf("%q is not a number above 0 and at most %g", v, high)
		}
		return nil
	}
}

// parsed returns a check that accepts what parse can read.
func parsed[T any](parse func(string) (T, error)) func(string) error {
	return func(v string) error {
		_, err := parse(v)
		return err
	}
}

// orWord returns a check that accepts the words and everything that check accepts.
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
