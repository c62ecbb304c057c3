package models_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/models"
	"torchpe/models/pe/petest"
)

// TestPEDropout: in training each element of the added table is 0 with the probability given, or
// divided by the rest of it; the same of a step repeated, another at another step. Evaluation adds
// the table itself. A stack drops its learned table as well, and a scheme without a table stays as it is.
func TestPEDropout(t *testing.T) {
	const p = 0.3
	for _, scheme := range []string{"learn", "rope+learn", "learn-2d", "axial"} {
		m := petest.Spec{Scheme: scheme, DModel: 48, Change: func(c *models.Config) { c.PEDropout = p }}.Model(t)
		table, dropped := trace(m, false, 3, "pe/*"), trace(m, true, 3, "pe/*")
		zero, all := 0, 0
		for _, name := range []string{"pe/0", "pe/1"} {
			for i, v := range dropped[name].Values {
				switch want := table[name].Values[i]; {
				case v == 0:
					zero++
				case math.Abs(v-want/(1-p)) > 1e-12:
					t.Fatalf("%s, %s[%d]: %g of %g", scheme, name, i, v, want)
				}
				all++
			}
		}
		if share := float64(zero) / float64(all); all == 0 || math.Abs(share-p) > 5*math.Sqrt(p*(1-p)/float64(all)) {
			t.Errorf("%s: %d of %d elements are dropped, want %g of them", scheme, zero, all, p)
		}
		expect.Equal(t, scheme+": a step drops differently when repeated",
			!slices.Equal(trace(m, true, 3, "pe/*")["pe/0"].Values, dropped["pe/0"].Values), false)
		expect.Equal(t, scheme+": two steps drop alike",
			slices.Equal(trace(m, true, 4, "pe/*")["pe/0"].Values, dropped["pe/0"].Values), false)
		plain := petest.Spec{Scheme: scheme, DModel: 48}.Model(t)
		expect.Equal(t, scheme+": evaluation drops something",
			!slices.Equal(trace(plain, true, 3)["returned"].Values, trace(m, false, 3)["returned"].Values), false)
	}
}

// TestRefusedPEDropout: what adds no learned table has nothing to drop.
func TestRefusedPEDropout(t *testing.T) {
	for _, scheme := range []string{"nope", "rope", "2d-fixed", "floater", "t5"} {
		m, err := petest.Spec{Scheme: scheme, Change: func(c *models.Config) { c.PEDropout = 0.1 }}.New()
		if err == nil {
			m.Close()
			t.Errorf("%s takes a dropout of its table", scheme)
		}
	}
	m := petest.Spec{Scheme: "learn+2d-fixed", DModel: 8, Change: func(c *models.Config) {
		c.PEDropout = 0.999
	}}.Model(t)
	fixed := petest.Spec{Scheme: "2d-fixed", DModel: 8}.Model(t)
	dropped, want := trace(m, true, 3, "pe/*")["pe/0"].Values, trace(fixed, false, 3, "pe/*")["pe/0"].Values
	same := 0
	for i := range want {
		if dropped[i] == want[i] {
			same++
		}
	}
	if same < len(want)-4 {
		t.Errorf("%d of %d elements are the fixed table's: it was dropped", same, len(want))
	}
}

// TestEncodingSize: the encoding's trained parameters are the first columns of the buffer, and no
// other is among them.
func TestEncodingSize(t *testing.T) {
	for _, scheme := range []string{"nope", "learn", "t5", "rope+t5", "learn-fourier", "t5+learn", "2d-fixed"} {
		m := petest.Spec{Scheme: scheme}.Model(t)
		size := 0
		for _, p := range m.Params.All() {
			if !p.Trainable {
				continue
			}
			of := strings.HasPrefix(p.Name, "pe.")
			if of {
				size += p.PerMember()
			}
			expect.Equal(t, fmt.Sprintf("%s: %s at column %d, where the encoding's are %d", scheme, p.Name,
				p.Offset(), m.EncodingColumns()), of, p.Offset() < m.EncodingColumns())
		}
		expect.Equal(t, scheme, size, m.EncodingSize())
	}
}
