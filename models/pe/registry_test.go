package pe_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/number"
	"torchpe/models/pe"
)

// TestSchemes: the eight schemes of the paper's Table 1 are there, sorted, and say what a reader
// needs.
func TestSchemes(t *testing.T) {
	names := pe.Names()
	if !slices.IsSorted(names) {
		t.Errorf("names are not sorted: %v", names)
	}
	for _, name := range []string{"1d-fixed", "2d-fixed", "c-nope", "learn", "nope", "random", "relative", "rope"} {
		if !slices.Contains(names, name) {
			t.Errorf("no scheme %s", name)
		}
	}
	for i, s := range pe.Schemes() {
		expect.Equal(t, fmt.Sprintf("scheme %d", i), s.Name, names[i])
		about := s.About()
		if about.Summary == "" || strings.Contains(about.Summary, "\n") || about.Reference == "" {
			t.Errorf("%s: summary %q, reference %q", s.Name, about.Summary, about.Reference)
		}
		if about.Title == "" || about.Formula == "" || about.Parameters == "" || about.Year < 2017 ||
			about.Year > 2026 {
			t.Errorf("%s: title %q, year %d, formula %q, parameters %q", s.Name, about.Title, about.Year,
				about.Formula, about.Parameters)
		}
		expect.Equal(t, s.Name, expect.Must(pe.Find(s.Name)).Name, s.Name)
	}
}

// TestOptions: an option of several schemes is one flag and means the same in all of them; its
// defaults are valid.
func TestOptions(t *testing.T) {
	seen := map[string]pe.Option{}
	for _, s := range pe.Schemes() {
		for _, o := range s.Options {
			if o.Help == "" || o.Check == nil || strings.HasPrefix(o.Name, "-") {
				t.Fatalf("%s: option %q has help %q", s.Name, o.Name, o.Help)
			}
			for _, value := range []string{o.Text, o.Code} {
				expect.Equal(t, fmt.Sprintf("%s: default %s of --%s", s.Name, value, o.Name), o.Check(value), nil)
				expect.Equal(t, s.Name+": default of --"+o.Name, number.Canonical(value), value)
			}
			for _, value := range []string{"", "bogus", "NaN", "-1", "0_2", "0x1p-2"} {
				if o.Check(value) == nil {
					t.Errorf("%s: --%s accepts %q", s.Name, o.Name, value)
				}
			}
			if other, ok := seen[o.Name]; ok && (other.Help != o.Help || other.Text != o.Text || other.Code != o.Code) {
				t.Errorf("--%s differs between schemes: %+v and %+v", o.Name, o, other)
			}
			seen[o.Name] = o
		}
	}
}

// TestResolve: what is given wins, options of other schemes are ignored, and all bad values are
// reported at once.
func TestResolve(t *testing.T) {
	s := expect.Must(pe.Find("2d-fixed"))
	given := pe.Options{"positions-from": "1", "sinusoid-base": "1e4", "rope-base": "bogus"}
	options, err := s.Resolve("code", given)
	want := pe.Options{"pe-placement": "block", "positions-from": "1",
		"grid-order": "columns-first", "fixed-pe-dropout": "0.1", "grid-exponent": "half",
		"grid-normalize": "false", "sinusoid-base": "10000", "sinusoid-layout": "interleaved"}
	expect.NoError(t, err)
	expect.Equal(t, "resolved to", options, want)
	expect.Equal(t, "options given to Resolve", len(given), 3)
	_, err = s.Resolve("code", pe.Options{"positions-from": "2", "grid-order": "diagonal", "fixed-pe-dropout": "1"})
	expect.Error(t, err, "--positions-from", `"2"`, "0, 1", "--grid-order", `"diagonal"`,
		"rows-first", "--fixed-pe-dropout", "[0, 1)")
	expect.Error(t, expect.ErrorOf(s.Resolve("paper", nil)), `"paper"`)
}

// An unknown name gives what it may mean, or where all names are listed.
func TestFindUnknown(t *testing.T) {
	for name, want := range map[string]string{"leran": `did you mean "learn"?`, "lern-0.1": `did you mean "learn-0.1"?`,
		"rotary": `did you mean "rope"?`, "ROPE": `did you mean "rope"?`, "sinusoidal": `did you mean "1d-fixed"?`,
		"Sinusoidal_2D": `did you mean "2d-fixed"?`, "absolute": `did you mean "1d-fixed" or "learn"?`,
		"learned": `did you mean "learn"?`, "learned-0.5": `did you mean "learn-0.5"?`,
		"learn0.2": `did you mean "learn-0.2"?`, "learn-02": `did you mean "learn-0.2"?`,
		"2dfixed": `did you mean "2d-fixed"?`,
		"rope2":   `did you mean "rope"?`, "ropee-0.1": "`torchpe pe list` lists them",
		"something": "pe list", "": "pe list"} {
		_, err := pe.Find(name)
		expect.Error(t, err, `"`+name+`"`, want)
	}
}

// TestRegisterTwice: two schemes of one name are a mistake of the program.
func TestRegisterTwice(t *testing.T) {
	defer func() {
		expect.Equal(t, "a second scheme called nope was registered", recover() == nil, false)
	}()
	pe.Register(pe.Scheme{Name: "nope"})
}

// TestCriteria: the rows of TISA's Table 1 are as printed: inductive, data-driven, parameter
// efficient, translation invariant, parallelizable, interpretable.
func TestCriteria(t *testing.T) {
	printed := map[string]string{ // the marks of paper_tisa.txt, Table 1
		"1d-fixed": "yny nyn", "learn": "nyn nyn", "relative": "nyy ynn", "rope": "yny yyn",
		"t5": "nyy yyy", "floater": "yyy nnn", "synthesizer": "nyy nyn", "tupe": "nyn nyn", "tisa": "yyy yyy",
	}
	for _, s := range pe.Schemes() {
		c, marks := s.About().Criteria, ""
		for i, is := range []bool{c.Inductive, c.DataDriven, c.ParameterEfficient,
			c.TranslationInvariant, c.Parallelizable, c.Interpretable} {
			if i == 3 {
				marks += " "
			}
			if is {
				marks += "y"
			} else {
				marks += "n"
			}
		}
		if want, ok := printed[s.Name]; ok && (marks != want || !c.Printed) {
			t.Errorf("%s: %s, printed are %s", s.Name, marks, want)
		} else if !ok && c.Printed {
			t.Errorf("%s is no row of the table", s.Name)
		}
	}
}
