package catalogue

import (
	"fmt"
	"strings"

	"torchpe/models/pe"
)

// DescribeAll describes schemes, each with the given options that it has, and returns the setting of each. It
// returns an error for an option that no scheme has.
func DescribeAll(schemes []pe.Scheme, s Setting) (all []Entry, each []Setting, err error) {
	var names []string
	used := map[string]bool{}
	for _, scheme := range schemes {
		names = append(names, scheme.Name)
		own := s
		own.Given = pe.Options{}
		for _, o := range scheme.Options {
			if v, ok := s.Given[o.Name]; ok {
				own.Given[o.Name], used[o.Name] = v, true
			}
		}
		e, err := Describe(scheme, own)
		if err != nil {
			return nil, nil, err
		}
		all, each = append(all, e), append(each, own)
	}
	for name := range s.Given {
		if !used[name] {
			return nil, nil, fmt.Errorf("--%s is not an option of %s", name, strings.Join(names, ", "))
		}
	}
	return all, each, nil
}
