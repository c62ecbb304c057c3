package ctorch

import (
	"fmt"
	"os"
	"testing"
)

// TestMain fails the package where a tensor outlives its test.
func TestMain(m *testing.M) {
	code := m.Run()
	if n := Live(); n != 0 {
		fmt.Println(n, "tensors are still alive after the tests")
		code = 1
	}
	os.Exit(code)
}
