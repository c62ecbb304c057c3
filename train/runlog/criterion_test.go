package runlog

import (
	"math"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

func TestCriterion(t *testing.T) {
	r := Numbers{"train": 0.99, "loss": 0.01, "validation/1-vector": 1, "pe_norm": 0.5}
	masked := Numbers{"train_mse": 0.5, "test_mse/0.50": 0.6, "modularity": 0.3}
	for _, c := range []struct {
		text, key string
		of        Numbers
		met       bool
	}{
		{"train=0.99", "train", r, true}, {"train=0.991", "train", r, false}, {"loss=0.01", "loss", r, true},
		{"loss=0.009", "loss", r, false}, {"iid=0", "iid", r, false}, {"pe_norm=0.5", "pe_norm", r, true},
		{"validation/1-vector=1", "validation/1-vector", r, true},
		{"validation_Binary=1", "validation/1-vector", r, true}, // as in torchpe 0.1.0
		{"validation_Ternary=0", "validation/2-vector", r, false}, {"modularity=0", "modularity", r, false},
		{"validation_accuracy=1", "validation", r, false}, {"tokens_25=0", "tokens/25", r, false},
		{"train_mse=0.5", "train_mse", masked, true}, {"train_mse=0.4", "train_mse", masked, false},
		{"test_mse_0.50=0.6", "test_mse/0.50", masked, true}, {"test_mse/0.5=0.6", "test_mse/0.50", masked, true},
		{"test_mse/.555=1", "test_mse/.555", masked, false}, {"test_mse/0.90=9", "test_mse/0.90", masked, false},
		{"modularity=0.2", "modularity", masked, true}, {"modularity=0.4", "modularity", masked, false},
		{"clustering=0", "clustering", masked, false},
	} {
		got, err := ParseCriterion(c.text)
		_, bound, _ := strings.Cut(c.text, "=")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got.Met(c.of.Get(c.key)) != c.met {
			t.Errorf("%s: met %v, want %v", c.text, !c.met, c.met)
		} else if got.Key != c.key || got.String() != c.key+"="+bound {
			t.Errorf("%s is read as %s", c.text, got)
		}
	}
	for text, want := range map[string]string{
		"": "NUMBER=BOUND", "train": "NUMBER=BOUND", "train=": "NUMBER=BOUND", "train=nan": "NUMBER=BOUND",
		"train=inf": "NUMBER=BOUND", "trian=1": "is not a number of the records",
		"validation_=1": "is not a number of the records", "validation/=1": "is not a number of the records",
	} {
		expect.Error(t, expect.ErrorOf(ParseCriterion(text)), want)
	}
}

func TestFits(t *testing.T) {
	at := func(member, epoch int, train float64) Record {
		return Record{Step: 64 * epoch, Epoch: epoch, Member: member, Measures: Numbers{"train": train}}
	}
	c := Criterion{"train", 0.99}
	fits := FitsOf(c, 2, []Record{at(0, 1, .5), at(1, 1, .4), at(0, 2, .991), at(1, 2, math.NaN()), at(0, 3, .98)})
	expect.Equal(t, "member 0", fits[0], Fit{"train=0.99", true, 2, 128})
	expect.Equal(t, "member 1", fits[1], Fit{Criterion: "train=0.99"})
}
