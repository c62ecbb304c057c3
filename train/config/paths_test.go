package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// FILE:NAME is an array in a file; a missing file is an error that names its flag.
func TestMakePathsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	dir := expect.Must(os.Getwd())
	expect.NoError(t, os.WriteFile("a.h5", nil, 0o666))
	var c Config
	c.LSTTrain, c.LSTValidation = []string{"a.h5", "a.h5:x/y"}, "b.csv"
	err := MakePathsAbsolute(&c)
	if err == nil || !strings.HasPrefix(err.Error(), "--lst-validation: stat "+filepath.Join(dir, "b.csv")) ||
		strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
	for i, want := range []string{filepath.Join(dir, "a.h5"), filepath.Join(dir, "a.h5:x/y")} {
		expect.Equal(t, "path", c.LSTTrain[i], want)
	}
}
