package partition

import (
	"fmt"
	"strings"
)

// Order is the order in which tokens of the two hemispheres come.
type Order string

// The orders. A Mixed one has left and right tokens in turn, or in several runs; Unknown means that
// names do not tell.
const (
	LeftFirst  Order = "left-first"
	RightFirst Order = "right-first"
	LeftOnly   Order = "left-only"
	RightOnly  Order = "right-only"
	Mixed      Order = "mixed"
	Unknown    Order = "unknown"
)

// Hemispheres returns the order of hemispheres that names tell. Names that tell neither left nor
// right, such as those of the brain stem, are passed over where at least half tell.
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

// OrderOf returns the order of hemispheres that names tell, else the one that the sides of tokens
// tell (L, R or empty).
func OrderOf(names, sides []string) Order {
	o, _ := Tokens{Names: names, Sides: sides}.hemispheres()
	return o
}

// Right says which tokens are of the right hemisphere by their names; nil where no name tells a side.
// Where only some do, it is an error.
func Right(names []string) ([]bool, error) {
	var right []bool
	for i, name := range names {
		s := side(name)
		if i > 0 && (s == 0) != (right == nil) {
			return nil, fmt.Errorf("the names tell the hemisphere of some tokens alone: %q and %q", names[0], name)
		}
		if s != 0 {
			right = append(right, s == 'R')
		}
	}
	return right, nil
}

// side returns L or R where a part of a name says so, else 0. It knows L_V1_ROI, lh.bankssts,
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
