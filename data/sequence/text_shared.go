package sequence

import "slices"

// passage is the number of characters of the passages that shared looks for.
const passage = 200

// shared returns how many passages of the held-out text are in the text to train on, and how many there are. passages
// lie side by side.
func (t *Text) shared() (found, all int) {
	const base = 1099511628211 // of a rolling hash modulo 2^64
	at := map[uint64][]piece{}
	for _, p := range t.held {
		for ; len(p) >= passage; p = p[passage:] {
			all++
			h := uint64(0)
			for _, c := range p[:passage] {
				h = h*base + uint64(c)
			}
			at[h] = append(at[h], p[:passage])
		}
	}
	first := uint64(1) // the factor of a passage's first character
	for range passage - 1 {
		first *= base
	}
	for _, p := range t.train {
		h := uint64(0)
		for i, c := range p {
			if i >= passage {
				h -= uint64(p[i-passage]) * first
			}
			h = h*base + uint64(c)
			if same := at[h]; same != nil && i+1 >= passage {
				at[h] = slices.DeleteFunc(same, func(of piece) bool { return slices.Equal(of, p[i+1-passage:i+1]) })
				found += len(same) - len(at[h])
			}
		}
	}
	return found, all
}
