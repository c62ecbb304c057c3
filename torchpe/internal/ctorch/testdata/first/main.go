// Command first prints a number that it has put into a tensor, if it is told to: the call of one
// function of libtorchpe.so that has integers, a pointer and a float64 as arguments and returns two
// words.
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
