package paper

import "fmt"

// Settings given in the text.
const (
	Width  = 160  // of models trained on puzzles
	Epochs = 4000 // of training on puzzles
	Decay  = 0.1  // weight decay of AdamW, Tables A5 and A6
	// TestLevel is the share of tokens masked in tests, as written in the results of runs.
	TestLevel = "0.90"
)

// Numbers printed in the text.
const (
	// FixedCosine is the cosine of the tables of 1d-fixed and 2d-fixed (section 3.3).
	FixedCosine = 0.72
	// StartCosine is the cosine of 2d-fixed and learn-0.2 before training (section 3.3).
	StartCosine = 0.00
	// NMARError is the test error on the simulated network (appendix A.4: "average MSE on IID
	// samples = 0.049"). NMARF and NMARP are the F test of its encodings ("n = 6 for each of the
	// model variants; F = 0.24, p = 0.97").
	NMARError = 0.049
	NMARF     = 0.24
	NMARP     = 0.97
)

// PublishedIID returns the IID test accuracies of learn-0.2 and learn-2.0 in the files of the
// published runs. The paper does not print them.
func PublishedIID() (small, large float64) { return 0.986, 0.847 }

// TTest is a paired t-test as printed. The paper prints 13 degrees of freedom for 15 pairs, which have
// 14.
type TTest struct {
	DF   int
	T, P float64
}

// TruthTest returns the test of 2d-fixed against learn-0.2 (section 3.2).
func TruthTest() TTest { return TTest{13, 0.96, 0.35} }

// RelativeTest returns the test of learn-0.2 against relative (section 3.2).
func RelativeTest() TTest { return TTest{13, 2.51, 0.03} }

// String writes the test as the paper does: t(13) = 0.96, p = 0.35.
func (t TTest) String() string { return fmt.Sprintf("t(%d) = %.2f, p = %.2f", t.DF, t.T, t.P) }
