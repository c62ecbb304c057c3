package partition

import (
	"fmt"
	"strings"
)

// Order is the order of the tokens of the two hemispheres.
type Order string

// The orders. Mixed means that left and right tokens alternate. Unknown means that names do not contain
// the hemisphere.
const (
	LeftFirst  Order = "left-first"
	RightFirst Order = "right-first"
	LeftOnly   Order = "left-only"
	RightOnly  Order = "right-only"
	Mixed      Order = "mixed"
	Unknown    Order = "unknown"
)

// Hemispheres returns the order of hemispheres found in names. It ignores names without a hemisphere, such
// as that of the brain stem, if at least half of the names have one.
func Hemispheres(names []string) Order {
	var sides []byte
	for _, name := range names {
		if s := side(name); s != 0 {
			sides = append(sides, s)
		}
	}
	if len(sides) == 0 || 2*len(sides) < len(names) {
		return Unknown
	}
	changes := 0
	for i := range sides[1:] {
		if sides[i] != sides[i+1] {
			changes++
		}
	}
	switch {
	case changes > 1:
		return Mixed
	case changes == 1 && sides[0] == 'L':
		return LeftFirst
	case changes == 1:
		return RightFirst
	case sides[0] == 'L':
		return LeftOnly
	}
	return RightOnly
}

// OrderOf returns the order of hemispheres found in names, or else in the sides of tokens (L, R or
// empty).
func OrderOf(names, sides []string) Order {
	o, _ := Tokens{Names: names, Sides: sides}.hemispheres()
	return o
}

// Right reports for each token whether its name is of the right hemisphere. It returns nil if no name has
// a hemisphere, and an error if only some have one.
func Right(names []string) ([]bool, error) {
	var right []bool
	for i, name := range names {
		s := side(name)
		if i > 0 && (s == 0) != (right == nil) {
			return nil, fmt.Errorf("the names contain the hemisphere of only some tokens: %q and %q",
				names[0], name)
		}
		if s != 0 {
			right = append(right, s == 'R')
		}
	}
	return right, nil
}

// side returns the hemisphere L or R found in a part of a name, else 0. It knows L_V1_ROI, lh.bankssts,
// ctx-rh-insula, 7Networks_LH_Vis_1, Visual1-04_L-Ctx, "Left Amygdala" and V1_R.
func side(name string) byte {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == '_' || r == '-' || r == '.' || r == ' '
	})
	for _, p := range parts {
		switch p {
		case "l", "lh", "left":
			return 'L'
		case "r", "rh", "right":
			return 'R'
		}
	}
	return 0
}
