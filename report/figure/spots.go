package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// spot is a point that wants its label beside it.
type spot struct {
	at     vg.Point
	radius vg.Length
	text   string
	color  color.NRGBA // of the text
}

// labelling puts labels beside spots. A label is clear of all spots, of other labels and of their leaders, and lies within c. It stands
// close to its spot where it can; else a leader joins it to its spot from further away. Each place has a cost: the search looks for
// places for as many labels as it can, and for cheap ones.
type labelling struct {
	c     draw.Canvas
	spots []spot
	avoid []segment // strokes that labels should keep off
	over  float64   // the cost of a label across one of them, where a point of leader costs leaderCost
}

// callout is a place for a label.
type callout struct {
	spot   int
	box    vg.Rectangle
	leader segment
	led    bool // by the leader
	cost   float64
}

const (
	mostTried = 2000 // labels; beyond, they are a blur, and the search is quadratic
	mostLed   = 60   // labels; beyond, leaders are a thicket

	crowdRadius = 12 // spots of a crowd are no further from each other

	leaderBase = 10 // the cost of a leader at all
	leaderCost = 0.6
	farthest   = 130 // end of a leader from its spot
	clearance  = 1.5 // of a label with a leader from other spots
	leaderPad  = 1   // between a leader and its label
	leaderLine = 0.4
)

// place returns the labels that found a place, in the order of the spots, and how many did not.
func (l labelling) place() (placed []callout, left int) {
	choices := make([][]callout, len(l.spots))
	var order []int
	wanted := 0
	for i, s := range l.spots {
		if s.text != "" {
			wanted++
			if i < mostTried {
				order = append(order, i)
			}
		}
	}
	few := len(order) <= mostLed
	for _, i := range order {
		choices[i] = l.near(i)
		if few {
			choices[i] = append(choices[i], l.far(i)...)
		}
		sort.SliceStable(choices[i], func(a, b int) bool { return choices[i][a].cost < choices[i][b].cost })
	}
	best := make(arrangement, len(choices))
	best.settle(choices, order)
	if few {
		best.polish(choices, order)
		for _, keep := range []vg.Length{0, 15, 30, 45, 60, 80} {
			if n, _ := best.score(); n == len(order) {
				break
			}
			open := l.keepAway(choices, keep)
			try := make(arrangement, len(choices))
			try.settle(open, order)
			try = try.eject(open, order)
			try.polish(choices, order)
			if try.betters(best) {
				best = try
			}
		}
	}
	for _, at := range best {
		if at != nil {
			placed = append(placed, *at)
		}
	}
	return placed, wanted - len(placed)
}

// keepAway returns the choices without those that are nearer to a spot in a crowd than the given distance: labels close to a crowd bar
// the way of other leaders.
func (l labelling) keepAway(choices [][]callout, distance vg.Length) [][]callout {
	const crowd = 5
	open := make([][]callout, len(choices))
	for i, s := range l.spots {
		neighbours := 0
		for _, o := range l.spots {
			if between(s.at, o.at) < crowdRadius {
				neighbours++ // itself too
			}
		}
		for _, at := range choices[i] {
			if neighbours < crowd || between(s.at, nearest(at.box, s.at)) >= distance {
				open[i] = append(open[i], at)
			}
		}
	}
	return open
}

// arrangement is the place of each spot's label; nil for none.
type arrangement []*callout

func (a arrangement) betters(b arrangement) bool {
	na, ca := a.score()
	nb, cb := b.score()
	return na > nb || na == nb && ca < cb
}

func (a arrangement) score() (placed int, cost float64) {
	for _, at := range a {
		if at != nil {
			placed++
			cost += at.cost
		}
	}
	return placed, cost
}

// fits reports whether a label has room among the others that are placed.
func (a arrangement) fits(c *callout) bool {
	for _, o := range a {
		if o != nil && c.conflicts(o) {
			return false
		}
	}
	return true
}

// conflicts reports whether the labels of two spots or their leaders are in each other's way.
func (c *callout) conflicts(o *callout) bool {
	return c.spot != o.spot && (overlap(c.box, o.box) || c.led && c.leader.hits(o.box) || o.led && o.leader.hits(c.box) ||
		c.led && o.led && c.leader.crosses(o.leader))
}

// settle gives each label in turn its cheapest place that the others leave, and again while that makes room or saves cost.
func (a arrangement) settle(choices [][]callout, order []int) {
	for range 4 {
		changed := false
		for _, i := range order {
			if at := a.free(choices[i]); at != nil && (a[i] == nil || at.cost < a[i].cost) {
				a[i], changed = at, true
			}
		}
		if !changed {
			return
		}
	}
}

// free is the cheapest place that other labels leave; nil where they leave none.
func (a arrangement) free(choices []callout) *callout {
	for k := range choices {
		if a.fits(&choices[k]) {
			return &choices[k]
		}
	}
	return nil
}

// trade gives labels one of their cheapest places, where a single other is in the way that has another place and both save cost together.
func (a arrangement) trade(choices [][]callout, order []int) {
	const cheapest = 15
	for _, i := range order {
		for k := range choices[i][:min(cheapest, len(choices[i]))] {
			at, was := &choices[i][k], a[i]
			if was != nil && at.cost >= was.cost {
				break
			}
			other, alone := -1, true
			for j, o := range a {
				if o != nil && o.conflicts(at) {
					alone = alone && other < 0
					other = j
				}
			}
			if other < 0 || !alone || was == nil {
				continue
			}
			gone := a[other]
			a[i], a[other] = at, nil
			if next := a.free(choices[other]); next != nil && at.cost+next.cost < was.cost+gone.cost {
				a[other] = next
				break
			}
			a[i], a[other] = was, gone
		}
	}
}

// polish saves what cost it can without leaving labels out.
func (a arrangement) polish(choices [][]callout, order []int) {
	for range 3 {
		a.settle(choices, order)
		a.trade(choices, order)
	}
}

// eject finds places for labels that have none by taking them from others, which look for new ones in turn. To take a label's place costs
// the more, the more often it has lost one, so that the search does not go in circles. It returns the best arrangement it came by.
func (a arrangement) eject(choices [][]callout, order []int) arrangement {
	var queue []int
	price := make([]float64, len(a))
	for _, i := range order {
		price[i] = 60
		if a[i] == nil && len(choices[i]) > 0 {
			queue = append(queue, i)
		}
	}
	best := slices.Clone(a)
	for range 10 * len(order) {
		if len(queue) == 0 {
			break
		}
		i := queue[0]
		queue = queue[1:]
		a[i] = a.cheapest(choices[i], price)
		for k, o := range a {
			if o != nil && o.conflicts(a[i]) {
				a[k] = nil
				price[k] += 10
				queue = append(queue, k)
			}
		}
		if a.betters(best) {
			best = slices.Clone(a)
		}
	}
	return best
}

// cheapest is the place that costs least with the prices of all labels that it takes places from.
func (a arrangement) cheapest(choices []callout, price []float64) (best *callout) {
	least := math.Inf(1)
	for k := range choices {
		at := &choices[k]
		if at.cost >= least {
			break // they are sorted
		}
		total := at.cost
		for i, o := range a {
			if o != nil && o.conflicts(at) {
				if total += price[i]; total >= least {
					break
				}
			}
		}
		if total < least {
			best, least = at, total
		}
	}
	return best
}

// labelHalf is half the height of a label.
const labelHalf = 0.5 * smallSize

// near returns the places beside the i-th spot that are nearer to it than to any other, lest the label be taken for the other's.
func (l labelling) near(i int) (all []callout) {
	s, width := l.spots[i], newWriter(sans(smallSize), ink).width(l.spots[i].text)
	const half = labelHalf
	out := s.radius + 2
	slant := 0.6 * out
	for k, at := range []vg.Point{ // the middle of the text
		{X: out + width/2}, {X: -out - width/2}, {Y: out + half}, {Y: -out - half},
		{X: slant + width/2, Y: slant + half/2}, {X: slant + width/2, Y: -slant - half/2},
		{X: -slant - width/2, Y: slant + half/2}, {X: -slant - width/2, Y: -slant - half/2},
		{X: 1 + width/2, Y: out + half}, {X: -1 - width/2, Y: out + half}, {X: 1 + width/2, Y: -out - half}, {X: -1 - width/2, Y: -out - half},
	} {
		box := boxAt(s.at.Add(at), width)
		if l.clear(box, 0.3) && l.isNearest(i, box) {
			all = append(all, callout{spot: i, box: box, cost: 0.2*float64(k) + l.across(box)})
		}
	}
	return all
}

// far returns the places of the i-th label at the end of a leader.
func (l labelling) far(i int) (all []callout) {
	s, width := l.spots[i], newWriter(sans(smallSize), ink).width(l.spots[i].text)+2*leaderPad
	const directions = 48 // between those of the axes, lest a leader be read as an error bar
	for from := s.radius + 5; from <= farthest; from += 4 {
		for k := range directions {
			sin, cos := math.Sincos(2 * math.Pi * (float64(k) + 0.5) / directions)
			x, y := vg.Length(cos), vg.Length(sin)
			box := boxAt(vg.Point{X: s.at.X + x*(from+width/2), Y: s.at.Y + y*(from+labelHalf)}, width)
			if !l.clear(box, clearance) {
				continue
			}
			end := nearest(box, s.at)
			length := between(end, s.at)
			if length <= s.radius {
				continue
			}
			start := s.at.Add(end.Sub(s.at).Scale(s.radius / length))
			at := callout{spot: i, box: box, leader: segment{start, end}, led: true}
			if through, ok := l.through(at); ok {
				at.cost = leaderBase + leaderCost*float64(length) + l.across(box) + through
				all = append(all, at)
			}
		}
	}
	return all
}

// boxAt is the box of a label with the given middle.
func boxAt(middle vg.Point, width vg.Length) vg.Rectangle {
	half := vg.Point{X: width / 2, Y: labelHalf}
	return vg.Rectangle{Min: middle.Sub(half), Max: middle.Add(half)}
}

// clear reports whether box lies within the canvas and off all spots by the given distance.
func (l labelling) clear(box vg.Rectangle, by vg.Length) bool {
	if box.Min.X < l.c.Min.X || box.Max.X > l.c.Max.X || box.Min.Y < l.c.Min.Y || box.Max.Y > l.c.Max.Y {
		return false
	}
	for _, s := range l.spots {
		if overlap(box, square(s.at, s.radius+by)) {
			return false
		}
	}
	return true
}

// across is the cost of a label that lies across strokes.
func (l labelling) across(box vg.Rectangle) float64 {
	for _, s := range l.avoid {
		if s.hits(box) {
			return l.over
		}
	}
	return 0
}

// through is the cost of a leader that runs through other spots of the crowd about its own, where hardly one can do otherwise. It may
// not run through others (ok is false), which it would seem to name.
func (l labelling) through(at callout) (cost float64, ok bool) {
	own := l.spots[at.spot].at
	for i, s := range l.spots {
		if i == at.spot || at.leader.distance(s.at) >= s.radius {
			continue
		}
		if between(own, s.at) > crowdRadius {
			return 0, false
		}
		cost += 12
	}
	return min(cost, 30), true
}

// isNearest reports whether no other spot lies nearer to box than the i-th.
func (l labelling) isNearest(i int, box vg.Rectangle) bool {
	distance := func(pt vg.Point) vg.Length { return between(pt, nearest(box, pt)) }
	own := distance(l.spots[i].at)
	for k, s := range l.spots {
		if k != i && distance(s.at) < own {
			return false
		}
	}
	return true
}

// draw writes the labels and draws their leaders.
func (l labelling) draw(placed []callout) {
	for _, at := range placed {
		if at.led {
			l.c.StrokeLine2(draw.LineStyle{Color: noteColor, Width: leaderLine}, at.leader.a.X, at.leader.a.Y, at.leader.b.X, at.leader.b.Y)
		}
	}
	for _, at := range placed {
		s := l.spots[at.spot]
		newWriter(sans(smallSize), s.color).centred(l.c, (at.box.Min.X+at.box.Max.X)/2, (at.box.Min.Y+at.box.Max.Y)/2, s.text)
	}
}

// unlabelled is the note on points whose labels found no place.
func unlabelled(left, total int) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("Without a label for want of room: %d of %d points", left, total)
}
