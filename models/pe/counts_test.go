package pe_test

import (
	"testing"

	"torchpe/models/pe"
)

// TestParameterCounts: schemes at the input have as many parameters as their formula in the
// registry says, worked out by hand for 12 tokens on 3 x 4, D = 16, H = 2, L = 3.
func TestParameterCounts(t *testing.T) {
	const n, d, l = 12, 16, 3
	for _, c := range []struct {
		scheme string
		given  pe.Options
		want   int
	}{
		{"1d-fixed", nil, 0}, {"2d-fixed", nil, 0}, {"3d-fixed", nil, 0},
		{"axial", pe.Options{"pe-placement": "input"}, 4*8 + 3*8}, // F = 4, the root of 12 rounded up
		{"axial", pe.Options{"axial-join": "sum"}, l * (4 + 3) * d},
		{"learn-2d", pe.Options{"pe-placement": "input"}, (3 + 4) * d},
		{"learn-resampled", pe.Options{"pe-placement": "input"}, 16 * d},
		{"learn-waves", pe.Options{"pe-placement": "block"}, l * d / 2},
		{"learn-fourier", nil, 8*2 + d*32 + 32 + 32*d + d}, // two coordinates
		{"laplacian", nil, 8*d + d},
		{"rwse", nil, 20*d + d},
		{"signnet", nil, 2*32 + 4*32*33 + 4*33 + 32*5 + d*33},
		{"signnet", pe.Options{"signnet": "mlp", "signnet-layers": "1", "signnet-post-layers": "1"},
			2*32 + 4*33 + d*(8*4+1)},
		{"cape", nil, 0},
		{"bipe", nil, 4 * d}, // of the grid's columns
		{"bipe", pe.Options{"bipe-places": "9"}, 9 * d},
		{"conv-pos", nil, d*1*128 + 128 + d}, // 16 groups
		{"floater", nil, 3*l*d + 2*d*(d+2)},
		{"fourier-features", nil, 16*d + d},
		{"fourier-features", pe.Options{"features": "nerf"}, 2*8*2*d + d},
		{"fourier-features", pe.Options{"features": "grid"}, 2*d + d},
		{"edge-geometry", nil, l * 2 * 3},
		{"space-time", pe.Options{"pe-placement": "input"}, (n + 1) * d}, // a grid is one frame
		{"abacus", pe.Options{"pe-placement": "input"}, 101 * d},
		{"detr", pe.Options{"detr-table": "learned"}, (3 + 4) * d / 2},
		{"random", pe.Options{"random": "ruoss", "random-base": "learn", "random-max": "40"}, l * 40 * d},
	} {
		s, err := pe.Find(c.scheme)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Resolve("code", c.given)
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Describe(pe.Size{Tokens: n, DModel: d, Heads: 2, Layers: l}, o)
		if err != nil || f.Parameters != c.want {
			t.Errorf("%s %v: %d parameters, want %d (%v)", c.scheme, c.given, f.Parameters, c.want, err)
		}
	}
}
