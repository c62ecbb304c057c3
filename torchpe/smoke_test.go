package torchpe

import "testing"

func TestSmoke(t *testing.T) {
	t.Logf("%+v", DescribeSystem())
	s := NewScope()
	defer s.Close()
	x := RandN(s, 1, Float64, CPU, 2, 3, 4).WantGrad()
	w := RandN(s, 2, Float64, CPU, 2, 5, 4).WantGrad()
	y := LinearGELU(x, w, Tensor{}).Sum()
	y.Backward()
	t.Log(y.Item(), x.Grad().Shape(), w.Grad().Float64s())
}
