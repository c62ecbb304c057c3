package torchpe

// Rows of the state that Account adds to.
const (
	AccountLoss     = iota // sum of the losses, each times its examples
	AccountCorrect         // sum of correct predictions
	AccountActive          // 1; 0 from the first step with a loss that was not finite
	AccountDiverged        // that step, from 1; 0 = none
	AccountLast            // losses of the last step
	AccountRows
)

// Account adds the results of a training step to state, float64 [AccountRows,E], on its device and
// without waiting for it. each [E] has the members' mean losses over examples; correct, float64
// [E], the numbers of correct predictions, or is the zero Tensor. step, int64, starts with the
// step's number from 0. A member whose loss is not finite becomes inactive.
func Account(each, correct Tensor, examples int, step, state Tensor) {
	call{op: "Account", tensors: []Tensor{each, correct, step, state}, numbers: []float64{float64(examples)}}.act()
}
