package pe_test

import (
	"testing"

	"torchpe/models/pe/petest"
)

// vectors holds what runs each file of reference vectors; the test of the scheme that the file is
// about fills it in.
var vectors = map[string]petest.Adapter{}

// noEncodings are the files of what is no encoding and starts none: null models.
var noEncodings = []string{"moran_randomization", "spin_test"}

// TestVectors: every scheme gives what other people's code gave, in float64 within the tolerance of
// each case.
func TestVectors(t *testing.T) { petest.EachVector(t, vectors, noEncodings, petest.CheckVector) }

// TestVectorsChanged: no output of any case can change by 1e-6 without TestVectors failing.
func TestVectorsChanged(t *testing.T) {
	petest.EachVector(t, vectors, noEncodings, petest.CheckVectorChanged)
}
