package lst

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A folder holds the published files, in the order of their code, those of generate, or not all of either.
func TestFilesIn(t *testing.T) {
	published := []string{"generated_puzzle_data_binary_dist80.csv", "generated_puzzle_data_ternary_dist80.csv",
		"generated_puzzle_data_quaternary_dist80.csv", "puzzle_data_original.csv"}
	for _, c := range []struct {
		files, train []string
		validation   string // or a part of the error
	}{
		{published, published[:3], published[3]},
		{[]string{"train.csv", "validation.csv"}, []string{"train.csv"}, "validation.csv"},
		{published[:3], nil, "lacks puzzle_data_original.csv of the published"},
		{append([]string{"train.csv"}, published[1:]...), nil, "lacks generated_puzzle_data_binary_dist80.csv of"},
		{nil, nil, "those of torchpe data lst generate are train.csv and validation.csv; for others: " +
			"torchpe train --lst-train FILE --lst-validation FILE"},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			expect.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
		}
		train, validation, err := FilesIn(dir)
		for i := range train {
			train[i] = filepath.Base(train[i])
		}
		if c.train == nil {
			expect.Error(t, err, c.validation)
		} else if err != nil || !slices.Equal(train, c.train) || filepath.Base(validation) != c.validation {
			t.Errorf("%v: %v, %s, %v", c.files, train, validation, err)
		}
	}
	if _, _, err := FilesIn(filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("no folder: %v", err)
	}
}
