package torchpe

import "testing"

// TestLibtorchAtLeast compares with releases that there are and will hardly be.
func TestLibtorchAtLeast(t *testing.T) {
	if !LibtorchAtLeast(1, 13) || LibtorchAtLeast(99, 0) {
		t.Errorf("libtorch %s: at least 1.13: %v; 99.0: %v", DescribeSystem().LibtorchRunning,
			LibtorchAtLeast(1, 13), LibtorchAtLeast(99, 0))
	}
}
