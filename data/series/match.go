package series

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/partition"
	"torchpe/internal/wording"
)

// match compares a matrix's tokens with those of the set, and finds their order.
func (l *loader) match(p *plan) {
	s, names := l.set, p.m.names
	if s.Tokens == 0 {
		s.Tokens, l.counted = p.layout.tokens, p.c.file
	}
	if p.layout.tokens != s.Tokens && (names == nil || s.Names == nil) {
		array.Failf("%s: it has %d tokens, but %s has %d", p, p.layout.tokens, l.counted, s.Tokens)
	}
	if names == nil {
		return
	}
	array.Fail(checkUnique(names, p.m.namesFrom))
	p.checkSides()
	if s.Names == nil {
		s.Names, s.NamesFrom = names, p.m.namesFrom
		if filepath.Base(s.NamesFrom) == namesFile {
			l.note("Names of tokens come from %s, which lies beside the series.", s.NamesFrom)
		}
	}
	if !slices.Equal(names, s.Names) {
		l.order(p)
	}
	l.matchSides(p)
}

// order finds the indexes of a matrix's tokens in the set by name.
func (l *loader) order(p *plan) {
	s := l.set
	place := make(map[string]int, s.Tokens)
	for i, name := range s.Names {
		place[name] = i
	}
	for _, name := range p.m.names {
		if k, ok := place[name]; ok {
			p.order = append(p.order, k)
		}
	}
	if len(p.order) < max(s.Tokens, len(p.m.names)) {
		only := func(names, others []string) string {
			rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(others, n) })
			return cmp.Or(wording.List(5, rest), "none")
		}
		array.Failf("%s: tokens only in it: %s; only in %s: %s: leave these out of all files", p,
			only(p.m.names, s.Names), s.NamesFrom, only(s.Names, p.m.names))
	}
	l.note("Tokens of %s were put into the order of %s, by name.", p.c.file, s.NamesFrom)
}

// checkSides fails if most names that contain a hemisphere contradict the vertices of their
// parcels. A few may, because an l can stand for lateral.
func (p plan) checkSides() {
	telling, wrong, first := 0, 0, 0
	for i, side := range p.m.sides {
		byName, byVertices := partition.Hemispheres(p.m.names[i:i+1]),
			partition.Hemispheres([]string{side})
		if byName == partition.Unknown || byVertices == partition.Unknown {
			continue
		}
		telling++
		if byName != byVertices {
			if wrong == 0 {
				first = i
			}
			wrong++
		}
	}
	if 2*wrong > telling {
		array.Failf("%s: %d of the %d tokens whose names contain a hemisphere have their vertices "+
			"in the other one, such as token %d, %q: names or structures are wrong",
			p, wrong, telling, first, p.m.names[first])
	}
}

// matchSides fails if a token lies in another hemisphere than the token of the same name in
// an earlier file.
func (l *loader) matchSides(p *plan) {
	if p.m.sides == nil {
		return
	}
	s := l.set
	if s.Sides == nil {
		s.Sides, l.sided = make([]string, s.Tokens), p.c.file
	}
	for i, side := range p.m.sides {
		to := i
		if p.order != nil {
			to = p.order[i]
		}
		switch {
		case s.Sides[to] == "":
			s.Sides[to] = side
		case side != "" && side != s.Sides[to]:
			array.Failf("%s: token %d, %q, has its vertices in hemisphere %s, but in %s in "+
				"%s: these names do not mean the same parcels; rename them, or leave one of "+
				"the files out", p, i, p.m.names[i], side, s.Sides[to], l.sided)
		}
	}
}

// checkNamed fails if some files name their tokens and others do not, because the latter may
// list them in another order.
func (l *loader) checkNamed(planned []plan) {
	if l.o.Names != nil {
		return
	}
	var named, bare []string
	for _, p := range planned {
		if p.m.names != nil {
			named = append(named, p.c.file)
		} else {
			bare = append(bare, p.c.file)
		}
	}
	if len(named) > 0 && len(bare) > 0 {
		array.Failf("%s: tokens without names, while %s has them and may list them in another order: name "+
			"the former with --names FILE, one per line, or leave one kind out", someOf(bare), someOf(named))
	}
}

// someOf lists the first few of files.
func someOf(files []string) string {
	return wording.List(3, slices.Compact(files))
}

// checkUnique returns an error if two tokens have the same name.
func checkUnique(names []string, file string) error {
	if i, j, twice := arrayfile.Twice(names); twice {
		return fmt.Errorf("%s: tokens %d and %d are both named %q", file, i, j, names[i])
	}
	return nil
}
