package torchpe

import "torchpe/torchpe/internal/ctorch"

// Rows of the state that Account adds to.
const (
	AccountLoss     = iota // sum of the losses, each times its examples
	AccountCorrect         // sum of right answers
	AccountActive          // 1, or 0 from the step on whose loss was not finite
	AccountDiverged        // that step, from 1; 0 = none
	AccountLast            // losses of the last step
	AccountRows
)

// Account adds what a training step saw to state, float64 [AccountRows,E], on its device and without the host waiting: the members' mean
// losses each [E] over so many examples, and right answers correct, float64 [E] or the zero Tensor. step, int64, starts with the step's number
// from 0. A member whose loss is not finite is inactive from then on.
func Account(each, correct Tensor, examples int, step, state Tensor) {
	if err := ctorch.Account(each.h, correct.h, float64(examples), step.h, state.h); err != nil {
		fail("Account", err.Error(), each, state)
	}
}
