package pe_test

import (
	"testing"

	"torchpe/models/pe"
	"torchpe/models/pe/petest"
)

// only returns the adapter with those outputs alone that a case has.
func only(a petest.Adapter) petest.Adapter {
	return func(t testing.TB, c *petest.VectorCase) petest.Outputs {
		out := a(t, c)
		for name := range out {
			if c.Outputs[name] == nil {
				delete(out, name)
			}
		}
		return out
	}
}

// TestBiasParameters: the numbers of parameters are what the registry's formulas say, at the size
// of BERT on a grid of 16 x 32.
func TestBiasParameters(t *testing.T) {
	const n, d, h, l, dh = 512, 768, 12, 12, 64
	for _, c := range []struct {
		scheme string
		given  pe.Options
		want   int
	}{
		{"alibi", nil, 0},
		{"t5", nil, 32 * h},
		{"tisa", nil, 3 * 5 * h * l},
		{"alibi", pe.Options{"alibi": "euclidean"}, 0},
		{"sandwich", nil, 0},
		{"kerple", pe.Options{"kerple-trained": "a", "kerple-weights": "ap"}, 3 * h},
		{"dynamic-bias", pe.Options{"dynamic-bias-width": "20", "dynamic-bias-depth": "3"}, 2*20 + 2*(20*20+20) + h*21},
		{"swin-v2", nil, l * (3*512 + h*512 + h)},
		{"grape-a", nil, l * (h + d)},
		{"grape-a", pe.Options{"grape-a": "both"}, l * (h + 2*d)},
		{"grape-a", pe.Options{"grape-a": "path"}, l * d * d},
		{"forgetting", nil, l * h * (d + 1)},
		{"forgetting", pe.Options{"forgetting-direction": "bidirectional"}, 2 * l * h * (d + 1)},
		{"dape", pe.Options{"dape": "alibi"}, l * (3*h*32 + 32 + h)},
		{"dape", pe.Options{"dape-kernel": "3"}, l*(3*h*3*32+32+h) + 2*h},
		{"dape", pe.Options{"dape": "fire"}, l * (3*h*32 + 32 + h + 2*32 + h*(32+1) + 2)},
		{"path", nil, l * (2*32*d + h*(d+1))},
		{"path", pe.Options{"path-rank": "0", "path-forget": "true"}, l * (d*d + 2*h*(d+1))},
		{"string", nil, 2 * l * d},
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
	} {
		s, err := pe.Find(c.scheme)
		if err != nil {
			t.Fatal(err)
		}
		options, err := s.Resolve("text", c.given)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := s.Describe(pe.Size{Tokens: n, DModel: d, Heads: h, Layers: l},
			options); err != nil || f.Parameters != c.want {
			t.Errorf("%s %v: %d parameters, %v; want %d", c.scheme, c.given, f.Parameters, err, c.want)
		}
	}
}
