package layers_test

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/layers"
)

// TestAssign: the value of each layer, written with a space between layers.
func TestAssign(t *testing.T) {
	local := []bool{true, true, false, true}
	for _, c := range []struct{ text, want string }{
		{"rope", "rope rope rope rope"},
		{"rope@1-3,nope@4", "rope rope rope nope"},
		{"nope@4,rope@1-3", "rope rope rope nope"},
		{"rope@1,nope@2,rope@3,alibi@4", "rope nope rope alibi"},
		{"rope*3,nope", "rope rope rope nope"},
		{"rope*1,nope", "rope nope rope nope"},
		{"rope,nope*2", "rope nope nope rope"},
		{"rope*3,nope*999999999999", "rope rope rope nope"},
		{"a(x=1,y=2)@local,a(x=3)@global", "a(x=1,y=2) a(x=1,y=2) a(x=3) a(x=1,y=2)"},
		{"8*3,0", "8 8 8 0"},
		{"a(x=1*2)", "a(x=1*2) a(x=1*2) a(x=1*2) a(x=1*2)"},
	} {
		list, err := layers.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		of, err := list.Assign(4, local)
		var got []string
		for _, i := range of {
			got = append(got, list[i].Value)
		}
		expect.Equal(t, c.text, err, nil)
		expect.Equal(t, c.text, strings.Join(got, " "), c.want)
	}
}

// TestMistakes: texts that cannot be meant, and lists that do not fit four layers without a window.
func TestMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"rope,nope":              "rope*1,nope assigns them to layers in turn",
		"rope@1-3,nope":          "give @LAYERS to every value, or to none",
		"rope@3-1,nope@4":        `"3-1" does not name layers`,
		"rope@0":                 `"0" does not name layers`,
		"rope@":                  `"" does not name layers`,
		"@1":                     "an empty value",
		"rope*0,nope":            `"0" is not a number of layers`,
		"rope@1-2,nope@2-4":      "layer 2 has both rope and nope",
		"rope@1-2":               "layer 3 of 4 has no value",
		"rope@1-5":               "rope@1-5: the model has 4 layers",
		"rope*4,nope":            "nope comes after the last of 4 layers",
		"rope@local,nope@global": "rope@local: no layer is local; --window gives layers a window",
	} {
		list, err := layers.Parse(text)
		if err == nil {
			_, err = list.Assign(4, nil)
		}
		expect.Error(t, err, says)
	}
}

// TestDiffer: a stack and an encoding with settings are the same in all layers.
func TestDiffer(t *testing.T) {
	for text, want := range map[string]bool{
		"rope": false, "rope+learn": false, "learn,rope": false, "rope(base=5)": false,
		"rope*3,nope": true, "rope@1": true, "rope(base=5)@1-2,rope@3": true,
	} {
		expect.Equal(t, text, layers.Differ(text), want)
	}
}
