package lst

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"torchpe/internal/expect"
)

// publishedPath finds a file of the published puzzles (github.com/ljhearne/LSTNN_public), which are
// not part of this repository: in $TORCHPE_LST, else in shared/lst beside the repository. Without
// it the test is skipped.
func publishedPath(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("TORCHPE_LST")
	if dir == "" {
		dir = "../../../shared/lst"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the published puzzles are not here (set TORCHPE_LST to their directory): %v", err)
	}
	return path
}

// Files of the published puzzles.
const publishedValidation = "puzzle_data_original.csv"

var publishedTraining = []string{
	"generated_puzzle_data_binary_dist80.csv",
	"generated_puzzle_data_ternary_dist80.csv",
	"generated_puzzle_data_quaternary_dist80.csv",
}

// published returns the published sets.
func published(t testing.TB) (train, validation []Puzzle) {
	t.Helper()
	for _, name := range publishedTraining {
		train = append(train, readPublished(t, name)...)
	}
	return train, readPublished(t, publishedValidation)
}

func readPublished(t testing.TB, name string) []Puzzle {
	return expect.Must(ReadFile(publishedPath(t, name)))
}

// The tables that steer the generator are counts of the published files.
func TestPublishedTables(t *testing.T) {
	_, validation := published(t)
	var givens [3][12]int
	for _, p := range validation {
		givens[p.Condition-1][p.Cells.Givens()]++
	}
	for c := range givens {
		for n := range givens[c] {
			expect.Equal(t, fmt.Sprintf("%v: published validation puzzles with %d givens", Conditions()[c], n),
				givens[c][n], 3*publishedValidationGivens[c][n]) // 3 rotations of each item
		}
	}
}
