package runlog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"torchpe/internal/stats"
)

// Numbers are numbers by key. Those that are not finite are null in JSON, and null is read as NaN.
type Numbers map[string]float64

// MarshalJSON writes no numbers, nil or not, as an empty object.
func (n Numbers) MarshalJSON() ([]byte, error) {
	object := make(map[string]*float64, len(n))
	for key, v := range n {
		object[key] = nil
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			object[key] = &v
		}
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads null in the place of the object as nil.
func (n *Numbers) UnmarshalJSON(text []byte) error {
	var object map[string]*float64
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return err
	}
	*n = make(Numbers, len(object))
	for key, v := range object {
		(*n)[key] = math.NaN()
		if v != nil {
			(*n)[key] = *v
		}
	}
	return nil
}

// Get returns the number of a key; NaN where there is none.
func (n Numbers) Get(key string) float64 {
	if v, ok := n[key]; ok {
		return v
	}
	return math.NaN()
}

// Of returns the numbers of a family by the rest of their keys, such as 0.50 of test_mse/0.50; nil where
// there are none.
func (n Numbers) Of(family string) Numbers {
	var of Numbers
	for key, v := range n {
		if part, ok := strings.CutPrefix(key, family+"/"); ok && !strings.Contains(part, "/") {
			if of == nil {
				of = Numbers{}
			}
			of[part] = v
		}
	}
	return of
}

// Mean returns the mean of a family's numbers that are not NaN, in order; NaN where there are none.
func (n Numbers) Mean(family string) float64 {
	var all []float64
	of := n.Of(family)
	for _, part := range of.Keys() {
		if v := of[part]; !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return stats.Mean(all)
}

// SetFamily sets the numbers of a family by the rest of their keys.
func SetFamily[Part comparable](n Numbers, family string, of map[Part]float64) {
	for part, v := range of {
		n[fmt.Sprint(family, "/", part)] = v
	}
}

// Keys returns the keys in the order of the registry; within a family, short ones first.
func (n Numbers) Keys() []string {
	place := map[string]int{}
	for key := range n {
		place[key] = slices.IndexFunc(measures, func(m Measure) bool { return m.has(key) })
	}
	return slices.SortedFunc(maps.Keys(n), func(a, b string) int {
		return cmp.Or(place[a]-place[b], len(a)-len(b), strings.Compare(a, b))
	})
}
