package lst

import (
	"fmt"

	"torchpe/data/array"
)

// Condition is the relational complexity of a puzzle: the number of vectors (rows and columns) that
// together force its answer by the rules of the published classifier. [Lines] finds fewer for some
// puzzles. The zero value is no condition.
type Condition uint8

// The three conditions, in order of complexity.
const (
	// OneVector, published label Binary, needs the probe's row or its column.
	OneVector Condition = 1 + iota
	// TwoVector, published label Ternary, needs the probe's row and column.
	TwoVector
	// ThreeVector, published label Quaternary, needs a line of the probe and the lines that cross
	// its blanks.
	ThreeVector
)

// Conditions lists the conditions in order of complexity.
func Conditions() [3]Condition { return [3]Condition{OneVector, TwoVector, ThreeVector} }

// String returns "1-vector", "2-vector" or "3-vector".
func (c Condition) String() string {
	if !c.known() {
		return fmt.Sprintf("Condition(%d)", uint8(c))
	}
	return fmt.Sprintf("%d-vector", uint8(c))
}

// Label returns the label of the published files: "Binary", "Ternary" or "Quaternary"; "" for no
// condition.
func (c Condition) Label() string {
	switch c {
	case OneVector:
		return "Binary"
	case TwoVector:
		return "Ternary"
	case ThreeVector:
		return "Quaternary"
	}
	return ""
}

// parseCondition returns the condition of a published label.
func parseCondition(label string) (Condition, error) {
	for _, c := range Conditions() {
		if c.Label() == label {
			return c, nil
		}
	}
	return 0, fmt.Errorf("condition %s: want Binary, Ternary or Quaternary", array.Quote(label))
}

func (c Condition) known() bool { return c >= OneVector && c <= ThreeVector }
