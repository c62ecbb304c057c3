package hcp

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array"
	"torchpe/internal/expect"
)

// fixture holds what testdata/make.py writes.
type fixture struct {
	Parcels, Frames                int
	Series, Motion, WM, Ventricles []float64
	WMDeriv                        []float64 `json:"wm_deriv"`
	VentriclesDeriv                []float64 `json:"ventricles_deriv"`
	DesignFrames                   []int     `json:"design_frames"`
	Design                         []float64
	Residuals                      map[string][]float64
}

func load(t *testing.T) fixture {
	t.Helper()
	raw := expect.Must(os.ReadFile("testdata/runs.json"))
	var f fixture
	if err := json.Unmarshal(raw, &f); err != nil || len(f.Residuals) != 7 {
		t.Fatalf("%d cases, %v", len(f.Residuals), err)
	}
	return f
}

func matrix(name string, rows, columns int, data []float64) array.Array {
	return array.Array{Name: name, Shape: []int{rows, columns}, Data: data}
}

// run returns the fixture's run without the derivatives of components.
func (f fixture) run() Run {
	return Run{
		Series:      matrix("run1.csv", f.Parcels, f.Frames, slices.Clone(f.Series)),
		Motion:      matrix("Movement_Regressors.txt", f.Frames, 12, slices.Clone(f.Motion)),
		WhiteMatter: matrix("wm.txt", f.Frames, 5, slices.Clone(f.WM)),
		Ventricles:  matrix("ventricles.txt", f.Frames, 5, slices.Clone(f.Ventricles)),
	}
}

// scaleColumn multiplies a column by a factor.
func scaleColumn(m array.Array, column int, by float64) {
	for i := range m.Shape[0] {
		rowOf(m, i)[column] *= by
	}
}

// setColumn copies a column of from into one of m.
func setColumn(m array.Array, column int, from func(row int) float64) {
	for i := range m.Shape[0] {
		rowOf(m, i)[column] = from(i)
	}
}

// checkEqual compares residuals, with a tolerance as a part of the largest wanted value.
func checkEqual(t *testing.T, what string, got array.Array, want []float64, tolerance float64) {
	t.Helper()
	if err := got.Check(); err != nil || len(got.Data) != len(want) {
		t.Fatalf("%s: %d values, want %d; %v", what, len(got.Data), len(want), err)
	}
	largest, worst := 0.0, 0.0
	for i, v := range want {
		largest = max(largest, math.Abs(v))
		if d := math.Abs(v - got.Data[i]); !(d <= worst) {
			worst = d
		}
	}
	if !(worst <= tolerance*largest) {
		t.Errorf("%s: residuals differ by up to %g, of up to %g", what, worst, largest)
	}
}

// TestResidualsEqualNumpy compares with testdata/make.py.
func TestResidualsEqualNumpy(t *testing.T) {
	f := load(t)
	for _, test := range []struct {
		name   string
		o      CleanOptions
		change func(*Run)
		rank   int
		notes  []string // parts of the notes, in their order
	}{
		{"published", DefaultCleanOptions(), func(r *Run) {}, 65,
			[]string{"white-matter derivatives", "ventricle derivatives"}},
		{"drop 0", CleanOptions{}, func(r *Run) {}, 65, []string{"white-matter derivatives",
			"ventricle derivatives"}},
		{"z-scored", CleanOptions{Drop: 5, ZScore: true}, func(r *Run) {}, 65,
			[]string{"white", "ventricle"}},
		{"six motion columns", DefaultCleanOptions(),
			func(r *Run) { r.Motion = columns(r.Motion, 0, 6) }, 65,
			[]string{"Movement_Regressors.txt", "white", "ventricle"}},
		{"derivatives given", DefaultCleanOptions(), func(r *Run) {
			r.WhiteMatterDerivative = matrix("", f.Frames, 5, f.WMDeriv)
			r.VentriclesDerivative = matrix("", f.Frames, 5, f.VentriclesDeriv)
		}, 65, nil},
		{"component twice", DefaultCleanOptions(), func(r *Run) {
			setColumn(r.Ventricles, 4, func(i int) float64 { return rowOf(r.WhiteMatter, i)[0] })
		}, 61, []string{"white", "ventricle", "rank 61 of 65"}},
		{"still head", DefaultCleanOptions(),
			func(r *Run) { setColumn(r.Motion, 2, func(int) float64 { return 0.25 }) }, 63,
			[]string{"white", "ventricle", "motion3 is 0.25", "motion3_squared is 0.0625"}},
	} {
		r := f.run()
		test.change(&r)
		before := fmt.Sprint(r)
		got := expect.Must(Clean(r, test.o))
		checkEqual(t, test.name, got.Residuals, f.Residuals[test.name], 1e-9)
		expect.Equal(t, test.name+": shape", got.Residuals.Shape, []int{f.Parcels, f.Frames - test.o.Drop})
		if got.Rank != test.rank || len(got.Columns)+len(got.Constant) != 64 {
			t.Errorf("%s: rank %d of %d columns, %d constant", test.name, got.Rank, len(got.Columns),
				len(got.Constant))
		}
		if len(got.Notes) != len(test.notes) {
			t.Errorf("%s: notes %q", test.name, got.Notes)
			continue
		}
		for i, want := range test.notes {
			if !strings.Contains(got.Notes[i], want) {
				t.Errorf("%s: note %q lacks %q", test.name, got.Notes[i], want)
			}
		}
		expect.Equal(t, test.name+": inputs afterwards", fmt.Sprint(r), before)
	}
}

func TestDesignEqualsNumpy(t *testing.T) {
	f := load(t)
	r := f.run()
	r.Series = array.Array{}
	design := expect.Must(designOf(r))
	if !slices.Equal(design.X.Shape, []int{f.Frames, 64}) || len(design.Names) != 64 {
		t.Fatalf("shape %v, %d names", design.X.Shape, len(design.Names))
	}
	for k, frame := range f.DesignFrames {
		for j, got := range rowOf(design.X, frame) {
			if want := f.Design[64*k+j]; math.Abs(got-want) > 1e-14*math.Max(1e-3, math.Abs(want)) {
				t.Errorf("frame %d, %s: %v, want %v", frame, design.Names[j], got, want)
			}
		}
	}
	// The order of FMRI preprocessing notes: 6, 6, 5, 5, 5, 5, then the squares.
	for place, want := range map[int]string{0: "motion1", 6: "motion1_deriv", 11: "motion6_deriv",
		12: "wm1", 17: "wm1_deriv",
		22: "ventricles1", 27: "ventricles1_deriv", 31: "ventricles5_deriv", 32: "motion1_squared",
		63: "ventricles5_deriv_squared"} {
		expect.Equal(t, fmt.Sprintf("column %d", place), design.Names[place], want)
	}
}

// TestResidualsAreOrthogonal to the intercept and to each signal after the dropped frames.
func TestResidualsAreOrthogonal(t *testing.T) {
	f := load(t)
	r := f.run()
	result := expect.Must(Clean(r, DefaultCleanOptions()))
	design := expect.Must(designOf(r))
	for p := range f.Parcels {
		residual := rowOf(result.Residuals, p)
		for j := -1; j < designColumns; j++ {
			dot, norm := 0.0, 0.0
			for i, v := range residual {
				x := 1.0
				if j >= 0 {
					x = rowOf(design.X, 5+i)[j]
				}
				dot += v * x
				norm += x * x
			}
			if cos := dot / math.Sqrt(norm*square(residual)); math.Abs(cos) > 1e-11 {
				t.Errorf("parcel %d and column %d have cosine %g", p, j, cos)
			}
		}
	}
}

// TestUnitsAndSignsDoNotMatter: signals in other units and of the other sign, and a series with
// another mean and slope, give the same residuals; a series of other units gives residuals of those
// units.
func TestUnitsAndSignsDoNotMatter(t *testing.T) {
	f := load(t)
	base := expect.Must(Clean(f.run(), DefaultCleanOptions()))
	r := f.run()
	for j, by := range []float64{1e6, -1e-6, 57.3, -1, 1e9, 1e-9} {
		scaleColumn(r.Motion, j, by)
		scaleColumn(r.Motion, 6+j, -by)
	}
	for j, by := range []float64{-1, 1e-7, -1e7, 12, 1e12} {
		scaleColumn(r.WhiteMatter, j, by)
		scaleColumn(r.Ventricles, 4-j, by)
	}
	for p := range f.Parcels {
		row := rowOf(r.Series, p)
		for i := range row {
			row[i] += 17 - 3.5*float64(i)
		}
	}
	checkEqual(t, "other units", expect.Must(Clean(r, DefaultCleanOptions())).Residuals, base.Residuals.Data,
		1e-9)
	for i := range r.Series.Data {
		r.Series.Data[i] *= -1e-3
		if i < len(base.Residuals.Data) {
			base.Residuals.Data[i] *= -1e-3
		}
	}
	checkEqual(t, "series of other units", expect.Must(Clean(r, DefaultCleanOptions())).Residuals,
		base.Residuals.Data, 1e-9)
}

// TestOffsetsDoNotMatter: with c added to a motion parameter its square is x^2 + 2cx + c^2, of the
// same span beside x and an intercept. It is nearly a line of x, and must not be taken for one. Its
// rounding (1e-6 of numbers of 1e10, beside squares of 0.1) allows for no more than four digits.
func TestOffsetsDoNotMatter(t *testing.T) {
	f := load(t)
	base, r := expect.Must(Clean(f.run(), DefaultCleanOptions())), f.run()
	setColumn(r.Motion, 1, func(i int) float64 { return 1e5 + f.Motion[12*i+1] })
	got := expect.Must(Clean(r, DefaultCleanOptions()))
	expect.Equal(t, "rank", got.Rank, 65)
	checkEqual(t, "offset", got.Residuals, base.Residuals.Data, 1e-4)
}

// TestDroppedFramesDoNotMatter: the first frames of the series are not used. Those of the signals
// are, by the derivative of the first frame kept.
func TestDroppedFramesDoNotMatter(t *testing.T) {
	f := load(t)
	base, r := expect.Must(Clean(f.run(), DefaultCleanOptions())), f.run()
	for p := range f.Parcels {
		for i := range 5 {
			rowOf(r.Series, p)[i] = 1e6
		}
	}
	for i := range 4 * components {
		r.WhiteMatter.Data[i] = 99
	}
	checkEqual(t, "other first frames", expect.Must(Clean(r, DefaultCleanOptions())).Residuals,
		base.Residuals.Data, 0)
	rowOf(r.WhiteMatter, 4)[0] = 99
	if slices.Equal(expect.Must(Clean(r, DefaultCleanOptions())).Residuals.Data, base.Residuals.Data) {
		t.Error("the derivative of frame 5 does not see frame 4")
	}
}

// TestParcelsOfNothing: a constant series, and a line, leave nothing, not the noise of rounding at
// unit variance.
func TestParcelsOfNothing(t *testing.T) {
	f := load(t)
	r := f.run()
	for i := range f.Frames {
		rowOf(r.Series, 0)[i] = 8123.456
		rowOf(r.Series, 2)[i] = 1000.1 + 0.3*float64(i)
	}
	for _, z := range []bool{false, true} {
		got := expect.Must(Clean(r, CleanOptions{Drop: 5, ZScore: z}))
		if slices.ContainsFunc(rowOf(got.Residuals, 0), func(v float64) bool { return v != 0 }) ||
			slices.ContainsFunc(rowOf(got.Residuals, 2), func(v float64) bool { return v != 0 }) {
			t.Errorf("something remains: %v", rowOf(got.Residuals, 0)[:4])
		}
		sd := math.Sqrt(square(rowOf(got.Residuals, 1)) / float64(f.Frames-5))
		if z != (math.Abs(sd-1) < 1e-12) {
			t.Errorf("z-score %v: parcel 1 has standard deviation %v", z, sd)
		}
		notes := strings.Join(got.Notes, "\n")
		if !strings.Contains(notes, "parcel 0") || !strings.Contains(notes, "parcel 2") ||
			strings.Contains(notes, "parcel 1") {
			t.Errorf("notes %q", got.Notes)
		}
	}
}

// TestNoiseLosesItsDegrees: white noise keeps (n - 66)/n of its variance: 65 columns and the slope.
func TestNoiseLosesItsDegrees(t *testing.T) {
	const frames, parcels = 400, 200
	r := noise(frames, parcels)
	got := expect.Must(Clean(r, CleanOptions{}))
	variance := square(got.Residuals.Data) / float64(len(got.Residuals.Data))
	// A part of the slope lies in the 65 columns already. The standard error is sqrt(2/(334 x 200))
	// = 0.0055.
	if want := float64(frames-66) / frames; math.Abs(variance-want) > 0.02 {
		t.Errorf("variance %v, want %v", variance, want)
	}
}

// noise returns a run of white noise.
func noise(frames, parcels int) Run {
	rng := rand.New(rand.NewPCG(2, 3))
	drawn := func(rows, columns int) array.Array {
		m := matrix("", rows, columns, make([]float64, rows*columns))
		for i := range m.Data {
			m.Data[i] = rng.NormFloat64()
		}
		return m
	}
	return Run{Series: drawn(parcels, frames), Motion: drawn(frames, 12),
		WhiteMatter: drawn(frames, 5), Ventricles: drawn(frames, 5)}
}

func TestCleanRefuses(t *testing.T) {
	f := load(t)
	cut := func(m *array.Array, rows int) { m.Shape[0], m.Data = rows, m.Data[:rows*m.Shape[1]] }
	for _, test := range []struct {
		name   string
		change func(*Run, *CleanOptions)
		want   []string
	}{
		{"nothing", func(r *Run, o *CleanOptions) { *r = Run{} }, []string{"no series"}},
		{"no signals", func(r *Run, o *CleanOptions) { r.Motion, r.Ventricles = array.Array{}, array.Array{} },
			[]string{"no motion", "no ventricle components"}},
		{"frames differ", func(r *Run, o *CleanOptions) { cut(&r.Motion, 105) },
			[]string{"series (run1.csv) 110", "motion (Movement_Regressors.txt) 105",
				"white-matter components (wm.txt) 110"}},
		{"derivative frames", func(r *Run, o *CleanOptions) {
			r.WhiteMatterDerivative = matrix("d.txt", 105, 5, f.WMDeriv[:525])
		}, []string{"white-matter derivatives (d.txt) 105"}},
		{"series transposed", func(r *Run, o *CleanOptions) { slices.Reverse(r.Series.Shape) },
			[]string{"series (run1.csv) 3", "transposed"}},
		{"signal transposed", func(r *Run, o *CleanOptions) { slices.Reverse(r.WhiteMatter.Shape) },
			[]string{"wm.txt", "5 rows and 110 columns", "want 5 columns", "transposed"}},
		{"motion columns", func(r *Run, o *CleanOptions) { r.Motion = columns(r.Motion, 0, 7) },
			[]string{"7 columns", "6 or 12"}},
		{"two faults", func(r *Run, o *CleanOptions) {
			r.Motion = columns(r.Motion, 0, 7)
			r.Ventricles = columns(r.Ventricles, 0, 4)
		}, []string{"Movement_Regressors.txt", "ventricles.txt", "4 columns"}},
		{"values missing", func(r *Run, o *CleanOptions) { r.Ventricles.Data = r.Ventricles.Data[:547] },
			[]string{"ventricles.txt", "547 values in a matrix of shape [110 5]"}},
		{"rows missing", func(r *Run, o *CleanOptions) { r.Ventricles.Data = r.Ventricles.Data[:545] },
			[]string{"ventricles.txt", "545 values"}},
		{"NaN in series", func(r *Run, o *CleanOptions) { rowOf(r.Series, 1)[30] = math.NaN() },
			[]string{"run1.csv", "NaN", "parcel 1, frame 30"}},
		{"infinite motion", func(r *Run, o *CleanOptions) { rowOf(r.Motion, 9)[11] = math.Inf(1) },
			[]string{"Movement_Regressors.txt", "+Inf", "frame 9, column 11"}},
		{"NaN in series and a transposed signal", func(r *Run, o *CleanOptions) {
			rowOf(r.Series, 1)[30] = math.NaN()
			slices.Reverse(r.WhiteMatter.Shape)
		}, []string{"parcel 1, frame 30", "wm.txt"}},
		{"overflow of a square", func(r *Run, o *CleanOptions) { rowOf(r.Motion, 9)[3] = 1e200 },
			[]string{"motion4_squared", "frame 9"}},
		{"overflow of the series", func(r *Run, o *CleanOptions) { rowOf(r.Series, 2)[50] = 1e300 },
			[]string{"parcel 2", "run1.csv"}},
		{"too many dropped", func(r *Run, o *CleanOptions) { o.Drop = 45 },
			[]string{"110 frames", "45 to drop", "65 columns"}},
		{"all dropped", func(r *Run, o *CleanOptions) { o.Drop = 200 }, []string{"200 to drop"}},
		{"negative drop", func(r *Run, o *CleanOptions) { o.Drop = -1 }, []string{"-1 frames"}},
	} {
		r, o := f.run(), DefaultCleanOptions()
		test.change(&r, &o)
		_, err := Clean(r, o)
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q lacks %q", test.name, err, want)
			}
		}
	}
	r := f.run()
	if _, err := Clean(r, CleanOptions{Drop: 44}); err != nil {
		t.Errorf("66 frames kept: %v", err)
	}
}
