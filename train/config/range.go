package config

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"torchpe/internal/paper"
)

// maxValues bounds a range: more values are a typing error.
const maxValues = 10_000

// Expand returns the values that a part of a list stands for: of a range from:to:step all, else itself.
func Expand(part string) ([]string, error) {
	switch ends := strings.Split(part, ":"); len(ends) {
	case 3:
		return Range(ends[0], ends[1], ends[2])
	case 2:
		if _, err := Range(ends[0], ends[1], "1"); err == nil {
			return nil, fmt.Errorf("%q has no step: a range is from:to:step, as 0.1:2:0.1", part)
		}
	}
	return []string{part}, nil
}

// Range returns from, from+step, ..., to, exactly: 0.1 to 2 in tenths has 20 values.
func Range(from, to, step string) ([]string, error) {
	var numbers [3]*big.Rat
	for i, text := range []string{from, to, step} {
		x, err := number(text)
		if err != nil {
			return nil, fmt.Errorf("range: %s: %w", []string{"from", "to", "step"}[i], err)
		}
		numbers[i] = x
	}
	x, last, by := numbers[0], numbers[1], numbers[2]
	rises := by.Sign()
	if rises == 0 {
		return nil, fmt.Errorf("range: step %s does not move %s", step, from)
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
	return out, nil
}

// number reads a decimal number of modest size exactly.
func number(text string) (*big.Rat, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f || f > 1e18 || f < -1e18 || f != 0 && f < 1e-18 && f > -1e-18 ||
		strings.ContainsAny(text, "xXpP_") {
		return nil, fmt.Errorf("%q is no number between 1e-18 and 1e18", text)
	}
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is no number", text)
	}
	return x, nil
}

// ParseSeeds reads the seeds of --seeds: the word paper alone, or whole numbers and ranges separated by
// commas. A range is from:to, from..to or from:to:step.
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
			seed, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is no seed: give whole numbers from 0 to 2^64-1, ranges as 1:15, or "+
					"the word paper alone", v)
			}
			seeds = append(seeds, seed)
		}
	}
	return seeds, nil
}
