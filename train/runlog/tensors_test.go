package runlog

import (
	"fmt"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// TestMemberParts takes a member's part of a tensor, a shared tensor whole, and refuses what has no part
// of that member.
func TestMemberParts(t *testing.T) {
	of := func(name string, shape []int, data ...float64) safetensors.Tensor {
		return expect.Must(safetensors.New(name, shape, data))
	}
	own, shared := of("w/x", []int{2, 1, 2}, 1, 2, 3, 4), of("modules", []int{3}, 1, 2, 3)
	got := expect.Must(MemberParts([]safetensors.Tensor{own, shared}, 1, 2))
	values, err := got[0].Float64s()
	expect.Equal(t, "parts", fmt.Sprint(got[0].Shape, values, got[1].Shape, err), "[1 1 2] [3 4] [3] <nil>")
	for member, bad := range map[int]safetensors.Tensor{
		0: of("w/x", []int{3}, 1, 2, 3), 1: of("w/x", []int{}, 1), 2: own, -1: own} {
		expect.Error(t, expect.ErrorOf(MemberPart(bad, member, 2)), "2 members")
	}
}
