package main

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

import "fmt"

func f(x, n int) (int, error) {
	defer done()
	if x < 1 && n != 0 {
		return 7, fmt.Errorf("%d", n+1)
	}
	for i := range n {
		x += i
		if i == 3 {
			break
		}
	}
	return x * 2, nil
}
`

// The mutations of a function, one by one; each is Go and differs from the source in one line.
func TestMutations(t *testing.T) {
	want := []string{
		"defer done() => ",
		"if x < 1 && n != 0 { => ", // with what depends on it
		"if x < 1 && n != 0 { => if !(x < 1 && n != 0) {",
		"if x < 1 && n != 0 { => if x < 1 || n != 0 {",
		"if x < 1 && n != 0 { => if x <= 1 && n != 0 {",
		"if x < 1 && n != 0 { => if x < 2 && n != 0 {",
		"if x < 1 && n != 0 { => if x < 0 && n != 0 {",
		"if x < 1 && n != 0 { => if x < 1 && n == 0 {",
		"if x < 1 && n != 0 { => if x < 1 && n != 1 {",
		`return 7, fmt.Errorf("%d", n+1) => return 7, error(nil)`,
		`return 7, fmt.Errorf("%d", n+1) => return 7, fmt.Errorf("%d", n-1)`,
		`return 7, fmt.Errorf("%d", n+1) => return 7, fmt.Errorf("%d", n+2)`,
		`return 7, fmt.Errorf("%d", n+1) => return 7, fmt.Errorf("%d", n+0)`,
		"x += i => ",
		"x += i => x -= i",
		"if i == 3 { => ",
		"if i == 3 { => if !(i == 3) {",
		"if i == 3 { => if i != 3 {",
		"if i == 3 { => if i == 4 {",
		"break => continue",
		"return x * 2, nil => return x / 2, nil",
		"return x * 2, nil => return x * 3, nil",
	}
	found, err := mutations("p.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.change)
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", m.apply(sample), 0); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if text := m.String(); !strings.HasPrefix(text, "p.go f: ") {
			t.Error(text)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A change elsewhere leaves the order of the others; another seed gives another.
func TestSampleIsFixed(t *testing.T) {
	order := func(source string, seed int) (changes []string) {
		all, err := mutations("p.go", source)
		if err != nil {
			t.Fatal(err)
		}
		shuffle(all, seed)
		for _, m := range all {
			changes = append(changes, m.change)
		}
		return changes
	}
	first := order(sample, 1)
	longer := order(strings.Replace(sample, "defer done()", "defer done()\n\tprintln(x)", 1), 1)
	longer = slices.DeleteFunc(longer, func(s string) bool { return strings.HasPrefix(s, "println") })
	if !slices.Equal(first, longer) {
		t.Errorf("%q\n%q", first, longer)
	}
	if slices.Equal(first, order(sample, 2)) {
		t.Error("seed 2 gives the order of seed 1")
	}
}

// The mutations of C++: operators, numbers, assignments; not signs, pointers, heads of templates and
// loops, and comments.
func TestCXXMutations(t *testing.T) {
	const source = `template <typename T>
void f(int n, const T* x, T* y) {
  for (int i = 0; i < n; i++) {
    y[i] = -x[i] * 2.5f;  // 1 + 1
    if (i == 3) g<T, 4>(y);
  }
}
`
	want := []string{
		"f: y[i] = -x[i] * 2.5f; => y[i] = -x[i] / 2.5f;",
		"f: y[i] = -x[i] * 2.5f; => y[i] = -x[i] * (1.01f * 2.5f);",
		"f: y[i] = -x[i] * 2.5f; => ;",
		"f: if (i == 3) g<T, 4>(y); => if (i != 3) g<T, 4>(y);",
		"f: if (i == 3) g<T, 4>(y); => if (i == 4) g<T, 4>(y);",
		"f: if (i == 3) g<T, 4>(y); => if (i == 3) g<T, 5>(y);",
	}
	var got []string
	for _, m := range cxxMutations("a.cc", source) {
		got = append(got, strings.TrimPrefix(m.String(), "a.cc "))
		if changed := m.apply(source); strings.Count(changed, "\n") != strings.Count(source, "\n") ||
			!strings.Contains(changed, "// 1 + 1") {
			t.Errorf("%s makes\n%s", m, changed)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
