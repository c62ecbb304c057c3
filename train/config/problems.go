package config

import (
	"errors"
	"fmt"
	"strings"
)

// Problems collects what is wrong with a configuration, so that all of it is reported at once.
type Problems []string

// Add appends a problem.
func (p *Problems) Add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Err returns all problems as one error, or nil.
func (p Problems) Err() error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return errors.New(p[0])
	}
	return fmt.Errorf("%d mistakes in the configuration:\n  %s", len(p), strings.Join(p, "\n  "))
}
