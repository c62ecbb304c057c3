package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// fake is a resolver that knows a few flags; sigma is of scheme learn alone, as in the real one.
func fake(args []string) ([]byte, []string, error) {
	flags := map[string]string{"pe": "learn", "heads": "1", "device": "cpu", "sigma": "0.2", "lr": "0.0001",
		"members": "1"}
	var notes []string
	for _, arg := range args {
		flag, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if flags[flag] == "" {
			return nil, nil, fmt.Errorf("no flag %s", flag)
		}
		if flag == "sigma" {
			notes = []string{"sigma given"}
		}
		flags[flag] = value
	}
	number := func(flag string) string { // as JSON writes it
		return string(expect.Must(json.Marshal(expect.Must(strconv.ParseFloat(flags[flag], 64)))))
	}
	sigma := "null"
	if flags["pe"] == "learn" {
		sigma = number("sigma")
	}
	var members []string
	for i := range expect.Must(strconv.Atoi(flags["members"])) {
		members = append(members, fmt.Sprintf(`{"seed":%d,"sigma":%s,"lr":%s}`, i+1, sigma, number("lr")))
	}
	return fmt.Appendf(nil, `{"task":"lst","pe":%q,"members":[%s],"heads":%s,"data":"\u003ca\u0026b\u003e","device":%q}`,
		flags["pe"], strings.Join(members, ","), number("heads"), flags["device"]), notes, nil
}

func resolved(t testing.TB, seeds int, axes ...Axis) [][]byte {
	t.Helper()
	points := expandAll(t, Part{Axes: append(axes, axis("members", strconv.Itoa(seeds)))})
	configs, _, err := Resolve(points, fake)
	expect.NoError(t, err)
	return configs
}

func extend(t testing.TB, dir string, configs [][]byte, pack int) (*Sweep, Added) {
	t.Helper()
	var added Added
	s := expect.Must(Extend(dir, "test", func(p *Plan) (err error) {
		added, err = p.Add(configs, Packing{Members: pack}, []string{"test"})
		return err
	}))
	t.Cleanup(func() { s.Close() })
	return s, added
}

func TestPlanAndAppend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	// nope has no sigma: its two values are one run.
	s, added := extend(t, dir, resolved(t, 2, axis("pe", "learn", "nope"), axis("sigma", "0.1", "1")), 3)
	expect.Equal(t, "added", added, Added{New: 6, Identical: 2, Tasks: 3})
	var got []string
	for _, task := range s.Plan.Tasks {
		got = append(got, strings.Join(task.Runs, " "))
	}
	// Four of learn in two tasks of at most three, nearly equal; two of nope.
	want := []string{"learn-0.1_seed=1 learn-0.1_seed=2", "learn-1.0_seed=1 learn-1.0_seed=2",
		"nope_seed=1 nope_seed=2"}
	expect.Equal(t, "tasks", got, want)
	expect.Equal(t, "configuration", string(expect.Must(s.Plan.configText(1))),
		`{"task":"lst","pe":"learn","members":[{"seed":1,"sigma":1,"lr":0.0001},{"seed":2,`+
			`"sigma":1,"lr":0.0001}],"heads":1,"data":"\u003ca\u0026b\u003e","device":"cpu"}`)
	before := expect.Must(os.ReadFile(filepath.Join(dir, planFile)))

	// The same again, and another device, add nothing and write nothing.
	for _, device := range []string{"cpu", "cuda"} {
		if _, added = extend(t, dir, resolved(t, 2, axis("device", device), axis("pe", "learn", "nope"),
			axis("sigma", "0.1", "1")), 1); added != (Added{Known: 6, Identical: 2}) {
			t.Errorf("%+v", added)
		}
	}
	expect.Equal(t, "plan to which nothing was added", string(expect.Must(os.ReadFile(filepath.Join(dir, planFile)))),
		string(before))

	// More values append tasks; what was planned keeps its place, members and names, though names
	// would be others now.
	s2, added := extend(t, dir, resolved(t, 3, axis("pe", "learn"), axis("sigma", "1"), axis("heads", "1", "2")), 10)
	expect.Equal(t, "added", added, Added{New: 4, Known: 2, Tasks: 2})
	old := expect.Must(json.Marshal(s.Plan.Tasks))
	expect.Equal(t, "tasks", string(expect.Must(json.Marshal(s2.Plan.Tasks[:3]))), string(old))
	expect.Equal(t, "runs", fmt.Sprint(s2.Plan.Tasks[3].Runs, s2.Plan.Tasks[4].Runs),
		"[learn-1.0_seed=3] [learn-1.0_heads=2_seed=1 learn-1.0_heads=2_seed=2 learn-1.0_heads=2_seed=3]")
	if len(s2.Plan.Generations) != 2 || s2.Plan.Generations[0].SHA256 != s.Plan.Hash() ||
		s2.Plan.Hash() == s.Plan.Hash() {
		t.Errorf("%+v", s2.Plan.Generations)
	}
	// The hash is of the content: the same plan elsewhere has the same.
	other, _ := extend(t, filepath.Join(t.TempDir(), "s"), resolved(t, 2, axis("pe", "learn", "nope"),
		axis("sigma", "0.1", "1")), 3)
	expect.Equal(t, "the same plan has another hash", other.Plan.Hash(), s.Plan.Hash())
}

// Any change of the file by hand is found.
func TestPlanIsNotEdited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s, _ := extend(t, dir, resolved(t, 2, axis("pe", "learn", "nope")), 1)
	s.Close()
	path := filepath.Join(dir, planFile)
	good := expect.Must(os.ReadFile(path))
	for _, c := range []struct{ from, to, want string }{
		{`"seed":2`, `"seed":3`, "was changed"},
		{`"heads":1`, `"heads":2`, "was changed"},
		{`nope_seed=1`, `nope_seed=9`, "was changed"},
		{`"name":"test"`, `"name":"tost"`, "was changed"},
		{`"schema":1`, `"schema":2`, "newer torchpe"},
		{`"tasks":4`, `"tasks":3`, "was changed"},
		{`"tasks":4`, `"tasks":40`, "do not match"},
		{`{`, `[`, "sweep.json"},
	} {
		bad := strings.Replace(string(good), c.from, c.to, 1)
		if bad == string(good) {
			t.Fatalf("no %s in %s", c.from, good)
		}
		expect.NoError(t, os.WriteFile(path, []byte(bad), 0o666))
		expect.Error(t, expect.ErrorOf(Open(dir)), c.want)
	}
	expect.Error(t, expect.ErrorOf(Open(t.TempDir())), ErrNoSweep.Error())
}

func TestNamesAreSafeAndDistinct(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	configs := [][]byte{
		[]byte(`{"task":"lst","pe":"a","file":"../../x/y","members":[{"seed":1,"sigma":null}]}`),
		[]byte(`{"task":"lst","pe":"a","file":"..-..-x-y","members":[{"seed":1,"sigma":null}]}`),
		[]byte(`{"task":"lst","pe":"A","file":"","members":[{"seed":1,"sigma":null}]}`),
		[]byte(`{"task":"nmar","pe":"a","deep":{"er":{"x":1}},"members":[{"seed":18446744073709551615,` +
			`"sigma":0.00001}]}`),
		[]byte(`{"task":"nmar","pe":"a","deep":{"er":{"x":2}},"members":[{"seed":1,"sigma":20}]}`),
		[]byte(`{"task":"nmar","pe":"` + strings.Repeat("é", 300) +
			`","deep":{"er":{"x":2}},"members":[{"seed":1,"sigma":20}]}`),
	}
	s, _ := extend(t, dir, configs, 1)
	seen := map[string]bool{}
	for _, task := range s.Plan.Tasks {
		name := task.Runs[0]
		if seen[strings.ToLower(name)] || strings.ContainsAny(name, "/\\ ") || len(name) > 128 {
			t.Errorf("%q", name)
		}
		seen[strings.ToLower(name)] = true
	}
	expect.Equal(t, "name", s.Plan.Tasks[3].Runs[0], "nmar_a-0.00001_x=1_seed=18446744073709551615")
}

func TestPacking(t *testing.T) {
	config := []byte(`{"task":"lst","layers":4,"heads":1,"d_model":160,"ff_multiple":4,"batch":128,` +
		`"dtype":"float32","optimizer":"adam"}`)
	size := sizeOf(expect.Must(readConfig(config)))
	// The paper's model has 1,248,964 parameters; the estimate leaves out embedding
	// and read-out.
	if size.Parameters < 1.2e6 || size.Parameters > 1.26e6 {
		t.Errorf("%g parameters", size.Parameters)
	}
	for _, c := range []struct {
		p    Packing
		runs int
		want int
	}{
		{Packing{Members: 7}, 1000, 7},
		{Packing{Machine: Machine{Workers: 2}}, 1000, mostOnCPU},
		{Packing{Machine: Machine{Workers: 2}}, 24, 3},
		{Packing{Machine: Machine{Workers: 8}}, 10, 1},
		{Packing{Machine: Machine{Workers: 2, WorkerMB: size.MemberMB * 5.5 / usable}}, 1000, 5},
		{Packing{Machine: Machine{Workers: 2, WorkerMB: 0.5}}, 1000, 1},
		{Packing{Machine: Machine{Workers: 4, WorkerMB: 80_000, GPU: true}}, 100, 25},
		{Packing{Machine: Machine{Workers: 1, WorkerMB: size.MemberMB * 100.5 / usable, GPU: true}}, 1000, 100},
		{Packing{Machine: Machine{Workers: 4, WorkerMB: size.MemberMB * 50.25 / usable, GPU: true}}, 1000, 50},
	} {
		expect.Equal(t, fmt.Sprintf("%+v of %d runs", c.p, c.runs), fmt.Sprint(c.p.most(config, c.runs)),
			fmt.Sprint(c.want, nil))
	}
}
