package train

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/internal/expect"
	"torchpe/internal/stats"
	"torchpe/train/config"
)

// Names of any text that readers let through are written as they are; names in another encoding, and
// paths that config.json could not hold, are refused before training.
func TestNamesOfAnyText(t *testing.T) {
	names := []string{"a\x01\x1b[31m", "\u2028\ufffe", "<b>&amp;]]>", strings.Repeat("L", 100), "pré|\ufeff\U000f0000"}
	_, body, _ := strings.Cut(tableText(60, 1), "\n")
	table := strings.Join(names, ",") + "\n" + body
	modules := "name,module\n"
	for i, name := range names {
		modules += name + "," + []string{"m" + names[0], "<m>é"}[i%2] + "\n"
	}
	c, dir := tinyFiles(t, map[string]string{"x.csv": table, "modules.csv": modules})
	c.Masked.TestFrames = 0
	run := filepath.Join(dir, "run")
	expect.Must(Run(t.Context(), c, run, Options{}))
	probes := expect.Must(safetensors.Read(filepath.Join(run, "probes.safetensors")))
	if probes.Metadata["token_names"] != strings.Join(names, "\n") ||
		probes.Metadata["module_names"] != "m"+names[0]+"\n<m>é" {
		t.Errorf("%q", probes.Metadata)
	}
	latin := strings.ReplaceAll(table, "é", "\xe9")
	for name, files := range map[string]map[string]string{
		"x.csv:1:":       {"x.csv": latin},
		"modules.csv:3:": {"x.csv": table, "modules.csv": strings.ReplaceAll(modules, "é", "\xe9")},
		"names.txt:5:3:": {"x.csv": body}, "UTF-8": {"\xe9.csv": table},
	} {
		c, dir := tinyFiles(t, files)
		if name == "names.txt:5:3:" {
			c.Masked.Files.Names = filepath.Join(dir, "names.txt")
			expect.NoError(t, os.WriteFile(c.Masked.Files.Names, []byte("a\nb\nc\nd\npr\xe9\n"), 0o600))
		}
		_, err := Run(t.Context(), c, filepath.Join(dir, "run"), Options{})
		expect.Error(t, err, name, "UTF-8")
	}
}

// The probes name the tokens, their modules and where a file places them; and the mean of the test
// subjects' errors, each as often as it has masked tokens, is the error of all, and that of the first
// the error where it is alone.
func TestProbesKnowTokensAndSubjects(t *testing.T) {
	files := map[string]string{"sub-1.csv": tableText(40, 1), "sub-2.csv": tableText(30, 3),
		"subjects.csv": "subject,set\n1,test\n2,train\n",
		"modules.csv":  "name,module\na,left\nb,left\nc,right\nd,right\ne,right\n"}
	c, dir := tinyFiles(t, files)
	c.Masked.TestFrames, c.Masked.Split = 0, config.SubjectSplit
	first := expect.Must(Run(t.Context(), c, filepath.Join(dir, "run"), Options{}))
	files["sub-3.csv"], files["subjects.csv"] = tableText(20, 4), "subject,set\n1,test\n2,train\n3,test\n"
	c, dir = tinyFiles(t, files)
	c.Masked.TestFrames, c.Masked.Split = 0, config.SubjectSplit
	run := filepath.Join(dir, "run")
	result := expect.Must(Run(t.Context(), c, run, Options{}))
	probes := expect.Must(safetensors.Read(filepath.Join(run, "probes.safetensors")))
	for key, want := range map[string]string{"token_names": "a\nb\nc\nd\ne", "module_names": "left\nright",
		"test_subjects": "1\n3", "token_points": ""} {
		expect.Equal(t, key, probes.Metadata[key], want)
	}
	x, ok := probes.Tensor("subjects/0.50")
	if !ok || fmt.Sprint(x.Shape) != "[2 2]" {
		t.Fatalf("subjects/0.50 has shape %v", x.Shape)
	}
	mse := expect.Must(x.Float64s())
	attention, _ := probes.Tensor("attention/0")
	shares := expect.Must(attention.Float64s())
	for row := range slices.Chunk(shares, 5) { // a mean over frames of shares
		expect.Near(t, "the sum of attention", float64(row[0]+row[1]+row[2]+row[3]+row[4]), 1, 1e-5)
	}
	for m, r := range result.Members { // 40 and 20 frames with the same number of masked tokens each
		want := r.Measures["test_mse/0.50"]
		expect.Near(t, fmt.Sprint("member ", m), (2*mse[2*m]+mse[2*m+1])/3, want, 1e-6*want)
		for _, name := range []string{"modularity", "clustering"} {
			blocks := slices.Collect(maps.Values(r.Measures.Of(name)))
			expect.Near(t, fmt.Sprint("member ", m), r.Measures.Get(name), stats.Mean(blocks), 1e-12)
		}
		alone := first.Members[m].Measures["test_mse/0.50"] // the same training, tested on subject 1 alone
		expect.Near(t, fmt.Sprint("member ", m), mse[2*m], alone, 1e-6*alone)
	}
}

// Names that no figure can hold are cut for the probes, and stay distinct.
func TestLongNamesAreCut(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	cut, whole := strings.Repeat("ü", 200), strings.Repeat("b", 200)
	want := "a\n" + cut + "… (1)\n" + cut + "… (2)\n" + whole
	expect.Equal(t, "lines", lines([]string{"a", long, long + "x", whole}), want)
}
