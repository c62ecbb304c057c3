package runlog

import (
	"math"
	"strings"
	"testing"
)

func TestCriterion(t *testing.T) {
	half, q := 0.5, 0.3
	r := NewRecord(640, 10, 0)
	r.TrainAccuracy, r.Loss, r.ValidationByCondition, r.PENorm = 0.99, 0.01, map[string]float64{"Binary": 1}, &half
	masked := NewRecord(100, 1, 0)
	masked.MaskedMeasures = &MaskedMeasures{TrainMSE: &half, TestMSEByMask: map[string]float64{"0.50": 0.6},
		Modularity: &q}
	for _, c := range []struct {
		text string
		r    Record
		met  bool
	}{
		{"train=0.99", r, true}, {"train=0.991", r, false}, {"loss=0.01", r, true}, {"loss=0.009", r,
			false}, {"iid=0", r, false},
		{"validation_Binary=1", r, true}, {"validation_Ternary=0", r, false}, {"pe_norm=0.5", r,
			true}, {"modularity=0", r, false},
		{"train_mse=0.5", masked, true}, {"train_mse=0.4", masked, false}, {"test_mse_0.50=0.6", masked,
			true}, {"test_mse_0.90=9", masked, false},
		{"modularity=0.2", masked, true}, {"modularity=0.4", masked, false}, {"clustering=0", masked, false},
	} {
		got, err := ParseCriterion(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got.met(c.r) != c.met {
			t.Errorf("%s: met %v, want %v", c.text, got.met(c.r), c.met)
		} else if got.String() != c.text {
			t.Errorf("%s is written as %s", c.text, got)
		}
	}
	for text, want := range map[string]string{
		"": "NUMBER=BOUND", "train": "NUMBER=BOUND", "train=": "NUMBER=BOUND", "train=nan": "NUMBER=BOUND",
		"train=inf": "NUMBER=BOUND", "trian=1": "no number of the records",
		"validation_=1": "no number of the records",
	} {
		if _, err := ParseCriterion(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFits(t *testing.T) {
	at := func(member, epoch int, train float64) Record {
		r := NewRecord(64*epoch, epoch, member)
		r.TrainAccuracy = train
		return r
	}
	c := Criterion{"train", 0.99}
	fits := FitsOf(c, 2, []Record{at(0, 1, .5), at(1, 1, .4), at(0, 2, .991), at(1, 2, math.NaN()), at(0, 3, .98)})
	if want := (Fit{"train=0.99", true, 2, 128}); fits[0] != want {
		t.Errorf("member 0: %+v, want %+v", fits[0], want)
	}
	if want := (Fit{Criterion: "train=0.99"}); fits[1] != want {
		t.Errorf("member 1: %+v, want %+v", fits[1], want)
	}
}
