package export

import (
	"fmt"
	"os"
	"testing"

	"torchpe/torchpe"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := torchpe.CheckNoLiveTensors(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}
