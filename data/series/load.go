package series

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"torchpe/data/array"
)

var subjectParts = []*regexp.Regexp{
	regexp.MustCompile(`(?:^|[^a-zA-Z])sub-([A-Za-z0-9]+)`),  // BIDS
	regexp.MustCompile(`(?:^|[^0-9])([0-9]{6})(?:[^0-9]|$)`), // HCP
}

// DefaultSubject finds the subject in the name of a file: what follows "sub-", as in BIDS; else six digits, as HCP numbers its
// subjects; else the whole name without what follows its first dot.
func DefaultSubject(file string) string {
	base := filepath.Base(file)
	for _, part := range subjectParts {
		if found := part.FindStringSubmatch(base); found != nil {
			return found[1]
		}
	}
	name, _, _ := strings.Cut(base, ".")
	return name
}

// Load reads all files into one set. Files of more than one token count, with names that differ, or with a value that is not
// finite are errors that name file, token and value; all files are opened before the first number of a binary one is read.
func Load(files []string, o Options) (*Set, error) {
	l := loader{o: o, set: &Set{}, seen: map[string]bool{}}
	if l.o.Subject == nil {
		l.o.Subject = DefaultSubject
	}
	if o.Names != nil {
		l.set.Names, l.set.NamesFrom, l.set.Tokens = o.Names, o.NamesFrom, len(o.Names)
	}
	var planned []plan
	for _, file := range files {
		p, err := l.plan(file)
		if err != nil {
			return nil, err
		}
		planned = append(planned, p...)
	}
	if len(planned) == 0 {
		return nil, errors.New("series: no files to read")
	}
	frames := 0
	for _, p := range planned {
		frames += p.layout.slices * p.layout.frames
	}
	l.set.X = make([]float32, 0, frames*l.set.Tokens)
	for i := range planned {
		if err := l.read(planned[i]); err != nil {
			return nil, err
		}
		planned[i] = plan{} // text lets go of its numbers
	}
	return l.set, nil
}

// ReadRun reads the one run of a file as it is, [frames, tokens], with the names of its tokens where it has any.
func ReadRun(file string, o Options) (array.Array, []string, error) {
	l := loader{o: o, set: &Set{Names: o.Names, NamesFrom: o.NamesFrom, Tokens: len(o.Names)}, seen: map[string]bool{}}
	plans, err := l.plan(file)
	if err != nil {
		return array.Array{}, nil, err
	}
	if len(plans) != 1 || plans[0].layout.slices != 1 {
		return array.Array{}, nil, fmt.Errorf("%s: it has several runs: name one with --dataset", file)
	}
	a, err := plans[0].m.load()
	if err != nil {
		return array.Array{}, nil, err
	}
	if plans[0].layout.tokenStep != 1 {
		a = a.Transpose()
	}
	return a, plans[0].m.names, nil
}

// loader collects a set.
type loader struct {
	o    Options
	set  *Set
	seen map[string]bool // notes
}

// plan is a matrix that will be read, with where its tokens go.
type plan struct {
	c      *content
	m      matrix
	layout layout
	order  []int // the token of the set that each of the file's is; nil where they are in order
}

// plan opens a file and checks that it fits those before it.
func (l *loader) plan(file string) ([]plan, error) {
	c, err := open(file, l.o)
	if err != nil {
		return nil, err
	}
	chosen, err := c.choose(l.o.Datasets)
	if err != nil {
		return nil, err
	}
	var plans []plan
	for _, m := range chosen {
		if m.dense {
			return nil, fmt.Errorf("%s: a dense series (dtseries.nii) needs parcels to be averaged in: name a dlabel.nii with --parcellation", file)
		}
		axes, err := c.axesOf(m, l.o)
		if err != nil {
			return nil, err
		}
		p := plan{c: c, m: m, layout: layoutOf(m.shape, axes)}
		if p.layout.tokens < 2 || p.layout.frames < 1 {
			return nil, fmt.Errorf("%s: %d frames of %d tokens (shape %v): at least 1 frame and 2 tokens are needed", p, p.layout.frames, p.layout.tokens, m.shape)
		}
		if err := l.match(&p); err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func (p plan) String() string {
	if p.m.name == "" {
		return p.c.file
	}
	return p.c.file + ": " + p.m.name
}

// match holds a matrix's tokens against the set's, and finds their order.
func (l *loader) match(p *plan) error {
	s := l.set
	if s.Tokens == 0 {
		s.Tokens, s.NamesFrom = p.layout.tokens, p.c.file
	}
	if p.layout.tokens != s.Tokens {
		return fmt.Errorf("%s: it has %d tokens, but %s has %d", p, p.layout.tokens, s.NamesFrom, s.Tokens)
	}
	switch {
	case p.m.names == nil:
		return nil
	case s.Names == nil:
		s.Names, s.NamesFrom = p.m.names, p.c.file
		return unique(p.m.names, p.c.file)
	case slices.Equal(p.m.names, s.Names):
		return nil
	}
	if err := unique(p.m.names, p.c.file); err != nil {
		return err
	}
	place := make(map[string]int, s.Tokens)
	for i, name := range s.Names {
		place[name] = i
	}
	for i, name := range p.m.names {
		k, ok := place[name]
		if !ok {
			return fmt.Errorf("%s: it names token %d %q, which is not among the %d of %s (%s, ...)", p, i, name, s.Tokens, s.NamesFrom,
				strings.Join(s.Names[:min(3, len(s.Names))], ", "))
		}
		p.order = append(p.order, k)
	}
	l.note("Tokens of %s were brought into the order of %s, by their names.", p.c.file, s.NamesFrom)
	return nil
}

// unique returns an error where two tokens have one name.
func unique(names []string, file string) error {
	first := make(map[string]int, len(names))
	for i, name := range names {
		if j, ok := first[name]; ok {
			return fmt.Errorf("%s: tokens %d and %d are both named %q", file, j, i, name)
		}
		first[name] = i
	}
	return nil
}

func (l *loader) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !l.seen[text] {
		l.seen[text] = true
		l.set.Notes = append(l.set.Notes, text)
	}
}

// read adds the runs of a matrix to the set.
func (l *loader) read(p plan) error {
	a, err := p.m.load()
	if err != nil {
		return err
	}
	s, y := l.set, p.layout
	subject := l.o.Subject(p.c.file)
	for slice := range y.slices {
		r := Run{File: p.c.file, Name: p.m.name, Subject: subject, First: s.Frames, Frames: y.frames}
		if y.slicesAreSubjects {
			r.Subject = fmt.Sprintf("%s[%d]", subject, slice)
		} else if y.slicesAreSeries {
			r.Name = fmt.Sprintf("%s[%d]", p.m.name, slice)
		}
		from := len(s.X)
		s.X = slices.Grow(s.X, y.frames*y.tokens)[:from+y.frames*y.tokens]
		if err := l.take(p, a.Data[slice*y.sliceStep:], s.X[from:]); err != nil {
			return err
		}
		s.Frames += y.frames
		s.Runs = append(s.Runs, r)
	}
	return nil
}

// take writes one run, [frames, tokens], z-scored where the options say so.
func (l *loader) take(p plan, data []float64, into []float32) error {
	y := p.layout
	for token := range y.tokens {
		to := token
		if p.order != nil {
			to = p.order[token]
		}
		at := func(frame int) float64 { return data[frame*y.frameStep+token*y.tokenStep] }
		mean, sd := 0.0, 1.0
		for f := range y.frames {
			v := at(f)
			if v-v != 0 || math.Abs(v) > math.MaxFloat32 { // true for NaN and infinities
				return fmt.Errorf("%s: frame %d of token %s is %v: leave the frame or the token out", p, f, l.token(to), v)
			}
			mean += v
		}
		if l.o.ZScore {
			mean /= float64(y.frames)
			squares := 0.0
			for f := range y.frames {
				d := at(f) - mean
				squares += d * d
			}
			sd = math.Sqrt(squares / float64(y.frames))
			if !(sd > 0) {
				return fmt.Errorf("%s: token %s is %v at all %d frames, so it has no z-score: leave it out, or turn z-scoring off with --zscore=false", p, l.token(to), mean, y.frames)
			}
		} else {
			mean = 0
		}
		for f := range y.frames {
			into[f*y.tokens+to] = float32((at(f) - mean) / sd)
		}
	}
	return nil
}

// token says which token is meant.
func (l *loader) token(i int) string {
	if i < len(l.set.Names) {
		return fmt.Sprintf("%d (%s)", i, l.set.Names[i])
	}
	return fmt.Sprint(i)
}
