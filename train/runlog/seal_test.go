package runlog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
)

// simulated returns the directory of a finished simulation.
func simulated(t *testing.T) string {
	t.Helper()
	s := newSimulation(filepath.Join(fastDir(t), "run"))
	s.size = 2
	expect.NoError(t, s.run())
	return s.dir
}

// readEnd reads the probes and the result of a run.
func readEnd(dir string) error {
	r, err := Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	_, probes := r.LoadProbes()
	_, result := r.Result()
	_, records := ReadMetrics[Record](r)
	return errors.Join(probes, result, records)
}

// replace writes a file of a run and returns what was there.
func replace(t *testing.T, dir, name string, text []byte) []byte {
	t.Helper()
	path := filepath.Join(dir, name)
	old := expect.Must(os.ReadFile(path))
	expect.NoError(t, os.WriteFile(path, text, 0o666))
	return old
}

// Each flipped bit of the records, a result or of probes is found, and the file is named.
func TestEveryBitOfTheEnd(t *testing.T) {
	dir := simulated(t)
	for _, name := range []string{probesFile, resultFile, metricsFile} {
		whole := replace(t, dir, name, nil)
		for bit := range len(whole) * 8 {
			damaged := slices.Clone(whole)
			damaged[bit/8] ^= 1 << (bit % 8)
			replace(t, dir, name, damaged)
			err := readEnd(dir)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
				t.Fatalf("%s, bit %d: %v", name, bit, err)
			}
		}
		replace(t, dir, name, whole)
		expect.Equal(t, name+" as it was", readEnd(dir), nil)
	}
	_, all, _ := strings.Cut(string(replace(t, dir, metricsFile, nil)), "\n")
	replace(t, dir, metricsFile, []byte(all))
	expect.ErrorIs(t, readEnd(dir), ErrDamaged)
}

// Probes and results without checksums, which earlier versions wrote, are read.
func TestEndWithoutChecksums(t *testing.T) {
	dir := simulated(t)
	path := filepath.Join(dir, probesFile)
	expect.NoError(t, safetensors.Write(path, expect.Must(safetensors.Read(path)).Tensors,
		map[string]string{"layer": "0"}))
	result := expect.Must(ParseObject(replace(t, dir, resultFile, nil)))
	replace(t, dir, resultFile, result.Without("config_sha256", "metrics_crc32c", "crc32c").Text())
	edited(t, dir, "lst", "old")
	expect.NoError(t, readEnd(dir))
}

// edited replaces a text in config.json.
func edited(t *testing.T, dir, old, text string) {
	t.Helper()
	was := string(replace(t, dir, configFile, nil))
	expect.Contains(t, was, old)
	replace(t, dir, configFile, []byte(strings.Replace(was, old, text, 1)))
}

// A result is refused where config.json has other settings than it was made with. White space is no
// setting, and what SetConfig has put there before the end is what the result is of.
func TestResultOfEditedConfig(t *testing.T) {
	dir := simulated(t)
	edited(t, dir, "lst", "nmar")
	expect.ErrorIs(t, readEnd(dir), ErrConfigChanged, filepath.Join(dir, configFile))
	edited(t, dir, "nmar", "lst")
	edited(t, dir, "\n", "\r\n\t")
	expect.NoError(t, readEnd(dir))
	r := resumed(t, "")
	expect.NoError(t, errors.Join(r.SetConfig([]byte(`{"task":"fmri"}`)), r.SaveResult(sampleResult())))
	expect.Must(r.Result())
	var made struct {
		SHA string `json:"config_sha256"`
	}
	err := json.Unmarshal(expect.Must(os.ReadFile(filepath.Join(r.Dir(), resultFile))), &made)
	// printf '{"task":"fmri"}' | sha256sum
	if want := "4585bb7ec2b7a664520c540aa1089477a9fa9a94293f4cbe7343f934c8e62a76"; err != nil || made.SHA != want {
		t.Errorf("%s (%v), want %s", made.SHA, err, want)
	}
}

// Of a finished run, an older checkpoint than that of the end comes with a warning, also where the
// newest is gone.
func TestOlderCheckpointOfFinishedRun(t *testing.T) {
	dir := simulated(t)
	if c, err := load(t, dir); err != nil || c.Warning != "" || c.Step != 10 {
		t.Fatalf("%+v, %v", c, err)
	}
	expect.NoError(t, os.Remove(filepath.Join(dir, checkpointFile)))
	c, err := load(t, dir)
	if err != nil || c.Step != 8 || !strings.Contains(c.Warning, "is of step 8, but training ended after step 10") {
		t.Errorf("%+v, %v", c, err)
	}
}
