package export_test

import (
	"os"
	"testing"

	"torchpe/models/pe/petest"
)

func TestMain(m *testing.M) { os.Exit(petest.Main(m)) }
