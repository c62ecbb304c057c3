package series

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// folder writes what convert writes: runs of frames x tokens with their names and modules, right
// hemisphere first.
func folder(t *testing.T, modules string) string {
	t.Helper()
	dir := t.TempDir()
	runs := expect.Must(os.ReadFile(fixture("frames.npy")))
	for name, text := range map[string]string{
		convertedName("01", 1): string(runs), convertedName("02", 1): string(runs),
		namesFile: "R_a\nR_b\nR_c\nL_a\nL_b\nL_c\n", modulesFile: modules,
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// A folder that convert wrote is read with the names and modules in it, whatever part of it is
// named.
func TestFolderOfConvert(t *testing.T) {
	dir := folder(t, "name,module\nL_a,1\nL_b,1\nL_c,1\nR_a,2\nR_b,2\nR_c,2\n")
	one := filepath.Join(dir, convertedName("02", 1))
	for notes, data := range map[int][]string{3: {dir}, 2: {one}} { // its two files are alike
		d, err := Source{Data: data}.Read(nil, false)
		if err != nil {
			t.Errorf("%v: %v", data, err)
			continue
		}
		if d.Names[0] != "R_a" || d.NamesFrom != filepath.Join(dir, namesFile) ||
			d.X[1] != value(0, 1) || !slices.Equal(d.Modules.Labels, []int{1, 1, 1, 0, 0, 0}) ||
			!strings.Contains(d.Modules.How, modulesFile) || len(d.Notes) != notes {
			t.Errorf("%v: %+v", data, d)
		}
	}
	// Its names count as names: of other files without any nothing is known.
	expect.Error(t,
		expect.ErrorOf(Load([]string{one, fixture("fortran.npy")}, Options{Tokens: []int{tokens}})),
		"without names")
	expect.Error(t, expect.ErrorOf(Load([]string{one}, Options{Names: names, NamesFrom: "n.txt"})),
		"R_a")
	// The user's modules go first.
	own := expect.File(t, "own.txt", "1\n2\n3\n1\n2\n3\n")
	expect.Equal(t, "own modules",
		len(expect.Must((Source{Data: []string{dir}, Modules: own}).Read(nil, false)).Modules.Modules), 3)
	other := folder(t, "name,module\nL_a,1\nL_b,1\nL_c,1\nR_a,1\nR_b,2\nR_c,2\n")
	expect.Error(t, expect.ErrorOf((Source{Data: []string{dir, other}}).Read(nil, false)), "differ")
	// Names of another number than the tokens are an error, not passed over.
	expect.NoError(t, os.WriteFile(filepath.Join(dir, namesFile), []byte("a\nb\nc\n"), 0o600))
	expect.Error(t, expect.ErrorOf(Load([]string{one}, Options{Tokens: []int{tokens}})),
		"no axis of 3 tokens")
}
