package torchpe

import (
	"fmt"
	"slices"
	"strings"

	"torchpe/torchpe/internal/ctorch"
)

// Precisions lists the precisions of products: fp32 throughout; tf32, operands with 10 bits of mantissa, as tensor cores of NVIDIA
// GPUs take them; bf16, operands with 7. Sums, everything else, and the weights themselves are fp32 in all three.
func Precisions() []string { return []string{"fp32", "tf32", "bf16"} }

// SetPrecision sets the precision of all products of float32 tensors from now on, in the whole program. On the CPU, whose products are
// fp32, operands are rounded as a GPU would, so that the effect can be studied anywhere.
func SetPrecision(name string) error {
	i := slices.Index(Precisions(), name)
	if i < 0 {
		return fmt.Errorf("precision %q is unknown; it is %s", name, strings.Join(Precisions(), ", "))
	}
	ctorch.SetPrecision(i)
	return nil
}

// Precision returns the precision of products.
func Precision() string { return Precisions()[ctorch.Precision()] }
