//go:build !amd64

package ctorch

// #include "shim.h"
import "C"

import "fmt"

// On amd64 lazy_amd64.c checks this when it loads the library.
func init() {
	if have := int(C.tp_abi()); have != abi {
		panic(fmt.Sprintf("libtorchpe.so has interface %d, this program needs %d: "+
			"rebuild both with `make build`", have, abi))
	}
}
