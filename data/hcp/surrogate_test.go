package hcp

import (
	"math"
	"slices"
	"testing"

	"torchpe/data/partition"
	"torchpe/internal/expect"
)

func TestNetworkSizes(t *testing.T) {
	s := expect.Must(Make(Options{Subjects: 2, Frames: 4}, 1))
	counts := make([]int, 12)
	for _, l := range s.Modules.Labels {
		counts[l]++
	}
	// The sizes that the Cole-Anticevic partition has on the cortex.
	expect.Equal(t, "networks of", counts, []int{6, 54, 39, 56, 23, 23, 50, 15, 77, 7, 4, 6})
	if len(s.Names) != 360 || partition.Hemispheres(s.Names) != partition.LeftFirst ||
		len(slices.Compact(slices.Sorted(slices.Values(s.Names)))) != 360 {
		t.Errorf("%d names, hemispheres %s", len(s.Names), partition.Hemispheres(s.Names))
	}
	if len(s.X) != 2*4*360 || len(s.Subjects) != 2 {
		t.Errorf("%d values, %d subjects", len(s.X), len(s.Subjects))
	}
}

// Each series has mean 0 and SD 1; correlations have the parts that the options ask for, in the
// mean over many subjects.
func TestCorrelations(t *testing.T) {
	o := DefaultOptions()
	o.Subjects, o.Frames, o.Mixing, o.Subject = 4, 3000, 0, 0
	s := expect.Must(Make(o, 3))
	at := func(subject, frame, p int) float64 {
		return float64(s.X[(subject*o.Frames+frame)*Parcels+p])
	}
	correlation := func(a, b, lag int) float64 {
		sum := 0.0
		for subject := range o.Subjects {
			for f := lag; f < o.Frames; f++ {
				sum += at(subject, f, a) * at(subject, f-lag, b)
			}
		}
		return sum / float64(o.Subjects*(o.Frames-lag))
	}
	for p := 0; p < Parcels; p += 7 {
		if v := correlation(p, p, 0); math.Abs(v-1) > 1e-5 {
			t.Errorf("parcel %d has variance %v", p, v)
		}
		if v := correlation(p, p, 1); v < 0.75 || v > 0.92 {
			t.Errorf("parcel %d has correlation %v with itself one frame later, want between "+
				"memory^2 and memory", p, v)
		}
	}
	var within, between, pairs, n, m, k float64
	for a := range Parcels / 2 {
		for b := a + 1; b < Parcels/2; b += 5 {
			if s.Modules.Labels[a] == s.Modules.Labels[b] {
				within, n = within+correlation(a, b, 0), n+1
			} else {
				between, m = between+correlation(a, b, 0), m+1
			}
		}
		if b := slices.Index(s.Names, "R"+s.Names[a][1:]); b >= 0 {
			pairs, k = pairs+correlation(a, b, 0), k+1
		}
	}
	// Weights are square roots of o times a factor uniform on .5 to 1.5, whose mean root is .9856;
	// both factors count.
	root := 0.98556 * 0.98556
	for name, v := range map[string][2]float64{
		"between": {between / m, o.Global * root},
		"within":  {within / n, (o.Global + o.Network) * root},
		"pairs":   {pairs / k, (o.Global + o.Network + o.Local) * root},
	} {
		if math.Abs(v[0]-v[1]) > 0.03 {
			t.Errorf("mean correlation %s networks %v, want %v", name, v[0], v[1])
		}
	}
}

func TestSeedsAndSubjectsDiffer(t *testing.T) {
	o := DefaultOptions()
	o.Subjects, o.Frames = 3, 20
	a, _ := Make(o, 1)
	b, _ := Make(o, 1)
	c, _ := Make(o, 2)
	n := o.Frames * Parcels
	if !slices.Equal(a.X, b.X) || slices.Equal(a.X, c.X) || slices.Equal(a.X[:n], a.X[n:2*n]) {
		t.Error("the same seed gives other numbers, or another the same")
	}
	o.Subjects = 2
	if d, _ := Make(o, 1); !slices.Equal(d.X, a.X[:2*n]) {
		t.Error("the first two subjects depend on how many follow")
	}
}

func TestValidate(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Subjects = 1 }, func(o *Options) { o.Frames = 1 },
	} {
		o := DefaultOptions()
		change(&o)
		expect.Refused(t, o, expect.ErrorOf(Make(o, 1)))
	}
}
