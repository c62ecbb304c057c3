package paper

import "torchpe/report/item"

// draft is an item in the making.
type draft struct {
	item.Draft
	study *Study
}

// draft makes an item without drawing it.
func (s *Study) draft(it spec) (*draft, error) {
	d := &draft{Draft: item.Draft{Marks: true, Measure: s.value}, study: s}
	return d, it.Fill(s, d, words)
}
