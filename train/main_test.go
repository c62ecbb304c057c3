package train

import (
	"context"
	"fmt"
	"os"
	"testing"

	"torchpe/models/pe/petest"
)

// TestMain also serves as the worker process of the tests that kill one: see worker.
func TestMain(m *testing.M) {
	if dir := os.Getenv(workerDir); dir != "" {
		c, err := ReadConfig(os.Getenv(workerConfig))
		if err == nil {
			_, err = Run(context.Background(), c, dir, Options{Resume: true})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(petest.Main(m))
}
