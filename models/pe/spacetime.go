// space-time: a learned table of places in a frame and one of frames, added (Bertasius et al. 2021,
// "Is space-time attention all you need for video understanding?", TimeSformer).
//
//	x <- x + S[place] + T[frame]
//
// Both start as N(0, sigma^2). Positions are {frame, row, column}; a grid is one frame. Places and
// frames are counted in ascending order of those that the encoding was built for. TimeSformer's
// class token has a row of S of its own and no time; no task of this project has one.

package pe

import (
	"fmt"
	"slices"

	"torchpe/torchpe"
)

func init() {
	Register(Scheme{
		Name: "space-time", Learned: true,
		Needs:   NeedsSpace,
		Options: []Option{placement},
		New:     newSpaceTime,
	})
}

type spaceTime struct {
	atEmbed
	space, time *torchpe.Param // [E,T,places,D], [E,T,frames,D]
	placeOf     map[[2]float64]int
	frameOf     map[float64]int
}

func newSpaceTime(c Config, ps *torchpe.ParamSet) (Encoding, error) {
	var places [][2]float64
	var frames []float64
	for _, point := range c.Positions.coordinates("space-time", 3) {
		frames, places = append(frames, point[0]), append(places, [2]float64{point[1], point[2]})
	}
	slices.Sort(frames)
	slices.SortFunc(places, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
	t := &spaceTime{placeOf: map[[2]float64]int{}, frameOf: map[float64]int{}}
	for i, place := range slices.Compact(places) {
		t.placeOf[place] = i
	}
	for i, frame := range slices.Compact(frames) {
		t.frameOf[frame] = i
	}
	var err error
	if t.space, err = c.addLearned(ps, "pe.space", len(t.placeOf), c.DModel); err != nil {
		return nil, err
	}
	t.time, err = c.addLearned(ps, "pe.time", len(t.frameOf), c.DModel)
	return t, err
}

func (t *spaceTime) Begin(s *torchpe.Scope, p Positions) Hooks {
	space, time := make([]int, p.Tokens()), make([]int, p.Tokens())
	for i, point := range p.coordinates("space-time", 3) {
		frame, okFrame := t.frameOf[point[0]]
		place, okPlace := t.placeOf[[2]float64{point[1], point[2]}]
		if !okFrame || !okPlace {
			panic(&torchpe.Error{Op: "space-time", Msg: fmt.Sprintf("token %d is at %v, "+
				"a frame or place that the encoding was not built for", i, point)})
		}
		space[i], time[i] = place, frame
	}
	tables := rowsAt(s, t.space.In(s), 2, space).Add(rowsAt(s, t.time.In(s), 2, time))
	return &tableHooks{tables: tables}
}
