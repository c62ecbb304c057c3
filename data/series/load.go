package series

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/internal/wording"
)

// Load reads all files into one set. Differing numbers of tokens, names that differ or that only
// some files have, and values that are not finite are errors that name file, token and value. All
// files are opened before the first number of a binary one is read.
func Load(files []string, o Options) (s *Set, err error) {
	defer array.Catch(&err)
	l := newLoader(o)
	if l.o.Subjects == nil {
		l.o.Subjects, l.set.Notes, err = subjectFinder{}.of(files)
		array.Fail(err)
	}
	var planned []plan
	for _, file := range files {
		for _, p := range l.plan(file) {
			l.readText(&p)
			planned = append(planned, p)
		}
	}
	if len(planned) == 0 {
		return nil, errors.New("series: no files to read")
	}
	l.checkNamed(planned)
	numbers := 0
	for _, p := range planned {
		numbers += p.layout.numbers()
	}
	what := fmt.Sprintf("the series of %s", someOf(files))
	l.set.X = array.Got(array.Make[float32](l.budget, numbers, what))[:0]
	same := map[[2]uint64]string{}
	for i, p := range planned {
		before := len(l.set.Runs)
		l.read(p)
		for k, r := range l.set.Runs[before:] {
			name := p.String()
			if p.layout.slices > 1 {
				name += fmt.Sprintf("[%d]", k)
			}
			sum := hash(l.set.X[r.First*l.set.Tokens : (r.First+r.Frames)*l.set.Tokens])
			if first, isKnown := same[sum]; isKnown {
				l.note("%s holds the same numbers as %s: both are used, and one may be held out of training on the "+
					"other.", name, first)
			}
			same[sum] = name
		}
		planned[i] = plan{} // frees the numbers of text
	}
	l.set.Notes = append(l.set.Notes, groupNotes(l.set.Runs)...)
	return l.set, nil
}

// groupNotes notes files of one subject whose datasets lie in groups that are called like several.
func groupNotes(runs []Run) (notes []string) {
	inside, subjects := map[string][]string{}, map[string][]string{} // by file
	for _, r := range runs {
		if !slices.Contains(subjects[r.File], r.Subject) {
			subjects[r.File] = append(subjects[r.File], r.Subject)
		}
		for _, part := range parts(r.Name) {
			isSubject := bidsFolder.MatchString(part) || sixDigits.MatchString(part)
			if isSubject && !slices.Contains(inside[r.File], part) {
				inside[r.File] = append(inside[r.File], part)
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(inside)) {
		if len(inside[file]) > 1 && len(subjects[file]) == 1 {
			notes = append(notes, fmt.Sprintf("%s counts as one subject, %s, but its datasets are named like several "+
				"(%s): to hold out subjects, write a file for each.", file, subjects[file][0],
				wording.List(3, inside[file])))
		}
	}
	return notes
}

// hash returns the length of x and its FNV-1a, by numbers.
func hash(x []float32) [2]uint64 {
	sum := uint64(14695981039346656037)
	for _, v := range x {
		sum = (sum ^ uint64(math.Float32bits(v))) * 1099511628211
	}
	return [2]uint64{uint64(len(x)), sum}
}

// ReadRun reads the only run of a file, [frames, tokens], without z-scores. If both the file and the options have
// names, the tokens are in the order of the options. It also returns the names, if either has any, and notes for
// the user.
func ReadRun(file string, o Options) (run array.Array, names, notes []string, err error) {
	defer array.Catch(&err)
	l := newLoader(o)
	plans := l.plan(file)
	p := plans[0]
	if len(plans) != 1 || p.layout.slices != 1 {
		return run, nil, nil, fmt.Errorf("%s: it has several runs: choose one with --dataset", file)
	}
	run = array.Got(p.m.load())
	if p.layout.tokenStep != 1 {
		run = run.Transpose()
	}
	if n := p.layout.tokens; p.order != nil {
		ordered := make([]float64, len(run.Data))
		for i, v := range run.Data {
			ordered[i-i%n+p.order[i%n]] = v
		}
		run.Data = ordered
	}
	return run, l.set.Names, l.set.Notes, nil
}

// loader collects a set.
type loader struct {
	o       Options
	set     *Set
	counted string          // origin of the number of tokens
	sided   string          // origin of the hemispheres
	seen    map[string]bool // notes
	// numbering has the first array of each file that numbers subjects.
	numbering map[string]string
	budget    *array.Budget // for all series together
}

func newLoader(o Options) *loader {
	l := &loader{o: o, set: &Set{}, seen: map[string]bool{}, numbering: map[string]string{}, budget: array.NewBudget()}
	if o.Names != nil {
		l.set.Names, l.set.NamesFrom, l.set.Tokens, l.counted = o.Names, o.NamesFrom,
			len(o.Names), o.NamesFrom
	}
	return l
}

// plan is a matrix to read, with the indexes of its tokens in the set.
type plan struct {
	c      *content
	m      matrix
	layout layout
	order  []int     // index in the set of each token of the file; nil if in order
	values []float32 // of a text, which must be read to find its shape
	run    string    // the index of one run of several in an array, such as [2]
}

// plan opens a file and checks that it matches the earlier ones.
func (l *loader) plan(file string) (plans []plan) {
	c := open(file, l.o)
	for _, m := range c.choose(l.o.Datasets) {
		if m.dense {
			array.Failf("%s: a dense series (dtseries.nii) needs parcels to be averaged in: give a "+
				"dlabel.nii with --parcellation", file)
		}
		axes := array.Got(c.axesOf(m, l.o))
		p := plan{c: c, m: m, layout: m.layout(axes)}
		if m.note != "" {
			l.note("%s", m.note)
		}
		for _, column := range m.index {
			if axes[0] == FrameAxis {
				l.note("The column %s of %s seems to count frames, or to give their time, subject or label: it "+
					"was read as a token; leave it out if it is not one.", column, p)
			}
		}
		if p.layout.tokens < 2 || p.layout.frames < 1 {
			array.Failf("%s: %d frames of %d tokens (shape %v): at least 1 frame and "+
				"2 tokens are needed", p, p.layout.frames, p.layout.tokens, m.shape)
		}
		l.match(&p)
		plans = append(plans, p)
	}
	return plans
}

func (p plan) String() string {
	if p.m.name == "" {
		return array.Printable(p.c.file) + p.run
	}
	return array.Printable(p.c.file) + ": " + array.Printable(p.m.name) + p.run
}

func (l *loader) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !l.seen[text] {
		l.seen[text] = true
		l.set.Notes = append(l.set.Notes, text)
	}
}

// readText converts the numbers of a text file to float32 at once, so that those of many files are
// not in memory as float64.
func (l *loader) readText(p *plan) {
	if p.c.format == arrayfile.Text {
		p.values = array.Got(array.Make[float32](l.budget, p.layout.numbers(), p.String()))
		l.fill(*p, p.values)
		p.m.load, p.c.matrices = nil, nil
	}
}

// read adds the runs of a matrix to the set.
func (l *loader) read(p plan) {
	s, y := l.set, p.layout
	from := len(s.X)
	s.X = s.X[:from+y.numbers()]
	if p.values != nil {
		copy(s.X[from:], p.values)
	} else {
		l.fill(p, s.X[from:])
	}
	subject := l.o.Subjects[p.c.file]
	numbering := p.m.name // the array that numbers subjects
	if n := p.m.cellSubject(); n > 0 {
		subject = fmt.Sprintf("%s{%d}", subject, n)
		numbering = p.m.cell.Of
	}
	if y.slicesAreSubjects || p.m.cellSubject() > 0 {
		if first := l.numbering[p.c.file]; first == "" {
			l.numbering[p.c.file] = numbering
		} else if first != numbering {
			l.note("%s: subjects of %s and %s with one number count as one: write a file for each if they are not.",
				array.Printable(p.c.file), first, numbering)
		}
	}
	for slice := range y.slices {
		r := Run{File: p.c.file, Name: p.m.name, Subject: subject, First: s.Frames,
			Frames: y.frames}
		if y.slicesAreSubjects {
			r.Subject = fmt.Sprintf("%s[%d]", subject, slice)
		} else if y.slicesAreSeries {
			r.Name = fmt.Sprintf("%s[%d]", p.m.name, slice)
		}
		s.Frames += y.frames
		s.Runs = append(s.Runs, r)
	}
}

// fill writes the runs of a matrix, [slices, frames, tokens].
func (l *loader) fill(p plan, into []float32) {
	a, y := array.Got(p.m.load()), p.layout
	if isConnectivity(a) {
		array.Failf("%s: %s", plan{c: p.c, m: p.m}, connectivityProblem(a))
	}
	for slice := range y.slices {
		if y.slicesAreSeries {
			p.run = fmt.Sprintf("[%d]", slice)
		}
		l.writeRun(p, a.Data[slice*y.sliceStep:], into[slice*y.frames*y.tokens:])
	}
}

// writeRun writes one run, [frames, tokens], z-scored if the options say so.
func (l *loader) writeRun(p plan, data []float64, into []float32) {
	y := p.layout
	for token := range y.tokens {
		to := token
		if p.order != nil {
			to = p.order[token]
		}
		at := func(frame int) float64 { return data[frame*y.frameStep+token*y.tokenStep] }
		sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
		for f := range y.frames {
			v := at(f)
			if isMissing(v) {
				l.failMissing(p, data, fmt.Sprintf("frame %d of token %s is %v", f, l.token(to), v))
			}
			sum, low, high = sum+v, min(low, v), max(high, v)
		}
		l.checkMarks(p, to, at, low, high)
		if p.c.format != arrayfile.Text && (token == 0 || token == y.tokens-1) &&
			equalSteps(y.frames, 1e-3, at) { // tolerance for rounding to float32
			l.note("Token %s of %s rises in equal steps, as frames and their times do: it was read as a token; "+
				"leave it out if it is not one.", l.token(to), plan{c: p.c, m: p.m}) // once for all its runs
		}
		mean, squares := sum/float64(y.frames), 0.0
		for f := range y.frames {
			squares += (at(f) - mean) * (at(f) - mean)
		}
		sd := math.Sqrt(squares / float64(y.frames))
		size := max(math.Abs(low), math.Abs(high))
		switch flat := high-low <= 1e-14*size; { // up to the rounding of float64
		case !l.o.ZScore && size > math.MaxFloat32:
			array.Failf("%s: the largest number of token %s is %.2g, too large for 32 bits: divide all, such as "+
				"by another unit", p, l.token(to), size)
		case size > 1e150: // the sum of squares must fit in 64 bits
			array.Failf("%s: the largest number of token %s is %.2g, too large for a z-score: divide all, or "+
				"leave these frames out if it stands for a missing value", p, l.token(to), size)
		case flat && l.o.ZScore && y.frames == 1:
			array.Failf("%s has only one frame and so no z-score: leave it out, or turn z-scoring off with "+
				"--zscore=false", p)
		case flat && l.o.ZScore:
			array.Failf("%s: token %s is %v at all %d frames, so it has no z-score: leave "+
				"it out, or turn z-scoring off with --zscore=false", p, l.token(to), low, y.frames)
		case flat:
			l.set.Flat = append(l.set.Flat, Flat{Run: p.String(), Token: l.token(to), Value: low})
		case l.o.ZScore && sd <= max(1e-10*size, 1e-150): // sums of millions of frames, and squares, round it
			array.Failf("%s: token %s goes from %v to %v, too little for a z-score: subtract the mean, or "+
				"multiply numbers that small, or leave the token out", p, l.token(to), low, high)
		case !l.o.ZScore && size < 1e-37: // normal numbers of float32 begin at 1.2e-38
			array.Failf("%s: the largest number of token %s is %.2g, too small for 32 bits: multiply all, "+
				"such as by another unit", p, l.token(to), size)
		case !l.o.ZScore && sd < 1e-4*size:
			array.Failf("%s: token %s is about %.4g and varies by %.2g (SD), of which 32-bit numbers "+
				"keep too little: subtract its mean, or scale it with --zscore", p, l.token(to), size, sd)
		}
		if !l.o.ZScore {
			mean, sd = 0, 1
		}
		for f := range y.frames {
			into[f*y.tokens+to] = float32((at(f) - mean) / sd)
		}
	}
}

// isMissing reports whether a value is NaN or infinite.
func isMissing(v float64) bool { return v-v != 0 }

// failMissing fails with the number of missing and infinite values of a run, and the first.
func (l *loader) failMissing(p plan, data []float64, first string) {
	y := p.layout
	n, frames, tokens := 0, map[int]bool{}, map[int]bool{}
	for f := range y.frames {
		for token := range y.tokens {
			if v := data[f*y.frameStep+token*y.tokenStep]; isMissing(v) {
				n, frames[f], tokens[token] = n+1, true, true
			}
		}
	}
	array.Failf("%s: missing or infinite: %s, in %d of %d frames and %d of %d tokens; %s: leave these "+
		"frames or tokens out", p, wording.Count(n, "value"), len(frames), y.frames, len(tokens), y.tokens,
		first)
}

// marks are numbers that files use for missing values, with either sign; the last two are those of
// climate data and of netCDF.
var marks = []float64{999, 9999, 99999, 999999, 1e20, float64(float32(9.96921e36))}

// checkMarks adds a note if an extreme of a token is one of marks and further from the token's
// other values than these are spread.
func (l *loader) checkMarks(p plan, token int, at func(frame int) float64, low, high float64) {
	for _, v := range []float64{low, high} {
		if !slices.ContainsFunc(marks, func(m float64) bool { return float32(m) == float32(math.Abs(v)) }) {
			continue
		}
		n, least, most := 0, math.Inf(1), math.Inf(-1)
		for f := range p.layout.frames {
			if x := at(f); x == v {
				n++
			} else {
				least, most = min(least, x), max(most, x)
			}
		}
		if key := fmt.Sprint("marks of ", plan{c: p.c, m: p.m}); !l.seen[key] && n < p.layout.frames &&
			min(math.Abs(v-least), math.Abs(v-most)) > most-least {
			l.seen[key] = true
			l.note("Token %s of %s is %v in %s, far from its other values, and was read as that number: if it "+
				"stands for a missing value, leave these frames or the token out.", l.token(token), p, v,
				wording.Count(n, "frame"))
		}
	}
}

// token describes a token in a message.
func (l *loader) token(i int) string {
	if i < len(l.set.Names) {
		return fmt.Sprintf("%d (%s)", i, array.Printable(l.set.Names[i]))
	}
	return fmt.Sprint(i)
}
