package pe_test

import (
	"testing"

	"torchpe/internal/expect"
	"torchpe/models/pe"
)

// counted is the number of parameters of a scheme with options.
type counted struct {
	scheme string
	given  pe.Options
	want   int
}

// TestParameterCounts: the numbers of parameters are what the registry's formulas say, worked out by
// hand: at the input for 12 tokens on 3 x 4, D = 16, H = 2, L = 3 in the code's reading, and for the
// others at the size of BERT on a grid of 16 x 32 in the text's.
func TestParameterCounts(t *testing.T) {
	const n, d, l = 12, 16, 3
	checkCounts(t, "code", pe.Size{Tokens: n, DModel: d, Heads: 2, Layers: l}, []counted{
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
		{"learn-2d", pe.Options{"grid-table": "sum"}, l * (3 + 4) * d},
		{"learn-2d", pe.Options{"grid-table": "concat"}, l * (3 + 4) * d / 2},
		{"learn-2d", pe.Options{"grid-table": "full"}, l * n * d},
		{"learn", nil, l * n * d},
		{"relative", nil, l * n * d / 2},
	})
}

// TestBiasParameters: see TestParameterCounts. Those of tisa and tupe are in Table 2 of TISA's paper;
// 393,216 are those of BERT.
func TestBiasParameters(t *testing.T) {
	const n, d, h, l, dh = 512, 768, 12, 12, 64
	checkCounts(t, "text", pe.Size{Tokens: n, DModel: d, Heads: h, Layers: l}, []counted{
		{"alibi", nil, 0},
		{"t5", nil, 32 * h},
		{"tisa", nil, 3 * 5 * h * l},
		{"alibi", pe.Options{"alibi": "euclidean"}, 0},
		{"sandwich", nil, 0},
		{"kerple", pe.Options{"kerple-trained": "a", "kerple-weights": "ap"}, 3 * h},
		{"dynamic-bias", pe.Options{"dynamic-bias-width": "20", "dynamic-bias-depth": "3"}, 2*20 + 2*(20*20+20) + h*21},
		{"selective-rope", nil, l * (32*d + 32*d/2 + 4*d/2)},
		{"selective-rope", pe.Options{"selective-conv": "0", "selective-bias": "true", "selective-gate": "true"},
			l * (32*d + 32*d/2 + d/2 + h*(d+1))},
		{"comrope", nil, l * (h*8*7/2 + 2) * dh / 8},
		{"comrope", pe.Options{"comrope": "ap"}, l * h * 8 * 7 / 2 * dh / 8},
		{"repo", nil, l * (2*d*d/8 + h*d/8)},
		{"repo", pe.Options{"repo": "linear"}, l * h * d},
		{"inkling", nil, l * (h*16*(d+1) + 1024*16)},
		{"erpe", nil, l * h * (2*n - 1)},
		{"tape", nil, 0},
		{"swin-v2", nil, l * (3*512 + h*512 + h)},
		{"grape-a", nil, l * (h + d)},
		{"grape-a", pe.Options{"grape-a": "both"}, l * (h + 2*d)},
		{"grape-a", pe.Options{"grape-a": "path"}, l * d * d},
		{"grape-a", pe.Options{"grape-a": "path:6"}, l * d * h * 6},
		{"forgetting", nil, l * h * (d + 1)},
		{"forgetting", pe.Options{"forgetting-direction": "bidirectional"}, 2 * l * h * (d + 1)},
		{"dape", pe.Options{"dape": "alibi"}, l * (3*h*32 + 32 + h)},
		{"dape", pe.Options{"dape-kernel": "3"}, l*(3*h*3*32+32+h) + 2*h},
		{"dape", pe.Options{"dape": "fire"}, l * (3*h*32 + 32 + h + 2*32 + h*(32+1) + 2)},
		{"path", nil, l * (2*32*d + h*(d+1))},
		{"path", pe.Options{"path-rank": "0", "path-forget": "true"}, l * (d*d + 2*h*(d+1))},
		{"string", nil, 2 * l * d},
		{"logn", nil, l * h},
		{"logn", pe.Options{"logn": "qwen:64"}, 0},
		{"rrwp", pe.Options{"rrwp-steps": "3"}, 3*d + d + l*h*3},
		{"fire", nil, l * (2*32 + h*(32+1) + 2)},
		{"fire", pe.Options{"fire-shared": "true"}, 2*32 + h*(32+1) + 2},
		{"cope", nil, l * 64 * dh},
		{"swin", nil, l * h * 31 * 63},
		{"beit", nil, h * 31 * 63},
		{"beit", pe.Options{"beit-class-token": "first"}, h * (31*63 + 3)},
		{"huang", pe.Options{"huang-method": "1"}, l * 17},
		{"huang", pe.Options{"huang-method": "2"}, l * 33},
		{"huang", pe.Options{"huang-method": "3"}, l * 33 * dh},
		{"huang", nil, l * 33 * dh},
		{"da", nil, 2 * l * h},
		{"tener", nil, 2 * l * h * dh},
		{"transformer-xl", nil, l*d*d + 2*h*dh},
		{"transformer-xl", pe.Options{"xl-table": "learned"}, l*d*d + 2*h*dh + n*d},
		{"transformer-xl", pe.Options{"xl-keys": "free"}, h*dh + l*n*(h*dh+h)},
		{"tupe", pe.Options{"tupe-projection": "normed"}, n*d + 2*d*d + 4*d},
		{"tupe", pe.Options{"tupe-buckets": "32/128"}, n*d + 2*d*d + 32*h},
		{"deberta", nil, 2*512*d + 2*l*(d*d+d)},
		{"deberta", pe.Options{"deberta-projections": "content"}, 2 * 512 * d},
		{"graphormer", nil, 511*h + 2*511*d},
		{"graphormer", pe.Options{"graphormer-edges": "5", "graphormer-centrality": "false"}, 511*h + 3*h + 5*h*h},
		{"synthesizer", nil, l * h * (d*32 + 32 + 32*n + n)},
		{"synthesizer", pe.Options{"synthesizer": "random"}, l * h * n * n},
		{"synthesizer", pe.Options{"synthesizer": "factorised"}, 2 * l * h * n * 32},
		{"synthesizer", pe.Options{"synthesizer": "factorised-dense:16"}, l * h * (16 + n/16) * (d + 1)},
		{"kerple", nil, 2 * h},
		{"learn", nil, 393_216},
		{"relative", nil, l * 33 * dh},
		{"relative", pe.Options{"relative-values": "true"}, 2 * l * 33 * dh},
		{"learn+tisa", nil, 393_216 + 2_160},
		{"tupe", nil, 1_572_864},
	})
}

func checkCounts(t *testing.T, fidelity string, z pe.Size, counts []counted) {
	t.Helper()
	for _, c := range counts {
		s := expect.Must(pe.Find(c.scheme))
		options := expect.Must(s.Resolve(fidelity, c.given))
		if f, err := s.Describe(z, options); err != nil || f.Parameters != c.want {
			t.Errorf("%s %v: %d parameters, %v; want %d", c.scheme, c.given, f.Parameters, err, c.want)
		}
	}
}
