package train

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/data/array/safetensors"
	"torchpe/train/config"
)

// The probes name the tokens, their modules and where a file places them; and the mean of the test
// subjects' errors, each as often as it has masked tokens, is the error of all, and that of the first
// the error where it is alone.
func TestProbesKnowTokensAndSubjects(t *testing.T) {
	files := map[string]string{"sub-1.csv": tableText(40, 1), "sub-2.csv": tableText(30, 3),
		"subjects.csv": "subject,set\n1,test\n2,train\n",
		"modules.csv":  "name,module\na,left\nb,left\nc,right\nd,right\ne,right\n"}
	c, dir := tinyFiles(t, files)
	c.Masked.TestFrames, c.Masked.Split = 0, config.SubjectSplit
	first, err := Run(context.Background(), c, filepath.Join(dir, "run"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	files["sub-3.csv"], files["subjects.csv"] = tableText(20, 4), "subject,set\n1,test\n2,train\n3,test\n"
	c, dir = tinyFiles(t, files)
	c.Masked.TestFrames, c.Masked.Split = 0, config.SubjectSplit
	run := filepath.Join(dir, "run")
	result, err := Run(context.Background(), c, run, Options{})
	if err != nil {
		t.Fatal(err)
	}
	probes, err := safetensors.Read(filepath.Join(run, "probes.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"token_names": "a\nb\nc\nd\ne", "module_names": "left\nright",
		"test_subjects": "1\n3", "token_points": ""} {
		if got := probes.Metadata[key]; got != want {
			t.Errorf("%s %q, want %q", key, got, want)
		}
	}
	x, ok := probes.Tensor("subjects/0.50")
	if !ok || fmt.Sprint(x.Shape) != "[2 2]" {
		t.Fatalf("subjects/0.50 has shape %v", x.Shape)
	}
	mse, err := x.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	for m, r := range result.Members { // 40 and 20 frames with the same number of masked tokens each
		want := r.TestMSEByMask["0.50"]
		if got := (2*mse[2*m] + mse[2*m+1]) / 3; math.Abs(got-want) > 1e-6*want {
			t.Errorf("member %d: subjects %v have mean %g, all %g", m, mse[2*m:2*m+2], got, want)
		}
		alone := first.Members[m].TestMSEByMask["0.50"] // the same training, tested on subject 1 alone
		if math.Abs(mse[2*m]-alone) > 1e-6*alone {
			t.Errorf("member %d: subject 1 has %g, and alone %g", m, mse[2*m], alone)
		}
	}
}

// Names that no figure can hold are cut for the probes, and stay distinct.
func TestLongNamesAreCut(t *testing.T) {
	long := strings.Repeat("ü", 5000)
	cut, whole := strings.Repeat("ü", 200), strings.Repeat("b", 200)
	want := "a\n" + cut + "… (1)\n" + cut + "… (2)\n" + whole
	if got := lines([]string{"a", long, long + "x", whole}); got != want {
		t.Errorf("%q", got)
	}
}
