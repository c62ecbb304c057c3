package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"torchpe/train"
)

// setNoise copies the values of the given flags about noise.
func (f *configFlags) setNoise(c *train.Config, given map[string]bool) error {
	if given["noise-repeats"] {
		c.NoiseRepeats = f.c.NoiseRepeats
		if c.NoiseRepeats == 0 {
			c.NoiseRepeats = -1 // asked for, unlike the zero that means "by default"
		}
	}
	if !given["noise"] {
		return nil
	}
	if c.Masked != nil {
		return fmt.Errorf("--noise: task %s has no puzzles to answer with noise; task lst has", c.Task)
	}
	var err error
	c.Noise, err = parseNoise("--noise", f.noise)
	return err
}

// parseNoise reads amplitudes; the word none alone means none.
func parseNoise(flag string, texts []string) ([]float64, error) {
	if slices.Equal(texts, []string{"none"}) {
		return nil, nil
	}
	values := make([]float64, len(texts))
	for i, text := range texts {
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no amplitude; give numbers of at least 0, or the word none alone", flag, text)
		}
		values[i] = v
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: no amplitudes; give numbers of at least 0, or the word none", flag)
	}
	return values, nil
}

// noiseText is the inverse of parseNoise.
func noiseText(amplitudes []float64) (texts []string) {
	for _, a := range amplitudes {
		texts = append(texts, fmt.Sprint(a))
	}
	return texts
}
