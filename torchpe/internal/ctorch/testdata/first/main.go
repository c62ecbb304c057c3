// Command first prints a number that it has stored in a tensor, if asked to. It calls one function
// of libtorchpe.so with integers, a pointer and a float64 as arguments that returns two words.
package main

import (
	"fmt"
	"os"

	"torchpe/torchpe/internal/ctorch"
)

func main() {
	if len(os.Args) < 2 {
		return
	}
	h, err := ctorch.Full([]int{2, 1}, 2.5, ctorch.Float64, ctorch.CPU)
	numbers := make([]float64, 2)
	if err == nil {
		err = ctorch.Read(h, numbers)
	}
	fmt.Println(numbers, err)
}
