package paper

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A report is held against what its run directories say. This file reads them without the packages
// that the report reads them with: JSON into maps, and safetensors by its specification.

// object is a JSON object.
type object map[string]any

// number returns the number at a path of keys; NaN where there is none, or null.
func (o object) number(path ...string) float64 {
	var at any = map[string]any(o)
	for _, key := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			return math.NaN()
		}
		at = inner[key]
	}
	if v, ok := at.(float64); ok {
		return v
	}
	return math.NaN()
}

// text returns the text of a key; "" where there is none.
func (o object) text(key string) string {
	s, _ := o[key].(string)
	return s
}

// object returns the object of a key; nil where there is none.
func (o object) object(key string) object {
	inner, _ := o[key].(map[string]any)
	return inner
}

// measured returns a number of a record or result; NaN where there is none, or null.
func (o object) measured(key string) float64 { return o.number("measures", key) }

// overBlocks returns the mean of the numbers of a family that end with 0, 1, ...; NaN for none.
func (o object) overBlocks(family string) float64 {
	var all []float64
	for {
		v, ok := o.object("measures")[fmt.Sprint(family, "/", len(all))].(float64)
		if !ok {
			return average(all)
		}
		all = append(all, v)
	}
}

// folder is a run directory.
type folder struct {
	dir, name      string
	config, result object
	records        []object
	tensors        map[string]tensor
	about          map[string]string // of the probes
}

// tensor is an array [shape].
type tensor struct {
	shape  []int
	values []float64
}

// seen is a member of a run, as its directory says.
type seen struct {
	*folder
	index          int
	pe             string
	sigma          float64 // -1 for none
	seed           int
	member, result object // of config.json and result.json
}

// readFolders returns the members of all runs below dir that have not diverged, in the order in
// which a report lists models: by encoding, sigma, placement, seed, and else by the run's name.
func readFolders(t testing.TB, dir string) []seen {
	t.Helper()
	var out []seen
	expect.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "config.json" {
			return err
		}
		f := readFolder(t, filepath.Dir(path))
		f.name = strings.TrimPrefix(filepath.ToSlash(f.dir), filepath.ToSlash(dir)+"/")
		for i, m := range f.config["members"].([]any) {
			one := seen{folder: f, index: i, pe: f.config.text("pe"), member: m.(map[string]any)}
			one.result = f.result["members"].([]any)[i].(map[string]any)
			one.seed, one.sigma = int(one.member.number("seed")), one.member.number("sigma")
			if math.IsNaN(one.sigma) {
				one.sigma = -1
			}
			if one.result.text("status") != "diverged" {
				out = append(out, one)
			}
		}
		return nil
	}))
	slices.SortStableFunc(out, func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.pe, b.pe), cmp.Compare(a.sigma, b.sigma),
			cmp.Compare(a.placement(), b.placement()), cmp.Compare(a.seed, b.seed))
	})
	return out
}

func readFolder(t testing.TB, dir string) *folder {
	t.Helper()
	f := &folder{dir: dir}
	for name, into := range map[string]*object{"config.json": &f.config, "result.json": &f.result} {
		expect.NoError(t, json.Unmarshal(readFile(dir, name), into))
	}
	lines := bufio.NewScanner(bytes.NewReader(readFile(dir, "metrics.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r object
		expect.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		if _, ok := r["step"]; ok { // not the line of the file's version
			f.records = append(f.records, r)
		}
	}
	f.readProbes(t)
	return f
}

// readProbes reads probes.safetensors: the length of the header, the header, the numbers.
func (f *folder) readProbes(t testing.TB) {
	t.Helper()
	b := readFile(f.dir, "probes.safetensors")
	n := binary.LittleEndian.Uint64(b)
	header, payload := map[string]json.RawMessage{}, b[8+n:]
	expect.NoError(t, json.Unmarshal(b[8:8+n], &header))
	f.tensors = map[string]tensor{}
	for name, text := range header {
		var x struct {
			DType string
			Shape []int
			At    [2]int `json:"data_offsets"`
		}
		if name == "__metadata__" {
			expect.NoError(t, json.Unmarshal(text, &f.about))
			continue
		}
		expect.NoError(t, json.Unmarshal(text, &x))
		f.tensors[name] = tensor{x.Shape, decode(t, x.DType, payload[x.At[0]:x.At[1]])}
	}
}

func decode(t testing.TB, kind string, b []byte) (out []float64) {
	t.Helper()
	switch kind {
	case "F32":
		for ; len(b) > 0; b = b[4:] {
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}
	case "I64":
		for ; len(b) > 0; b = b[8:] {
			out = append(out, float64(int64(binary.LittleEndian.Uint64(b))))
		}
	default:
		t.Fatal("numbers of type", kind)
	}
	return out
}

func readFile(dir, name string) []byte {
	return expect.Must(os.ReadFile(filepath.Join(dir, name)))
}

func (m seen) placement() string { return m.config.object("pe_options").text("pe-placement") }

// level returns the share of tokens masked in training; 0 for puzzles.
func (m seen) level() float64 { return m.config.object("masked").number("mask_level") }

// label names the encoding as the paper does.
func (m seen) label() string {
	if m.sigma < 0 {
		return m.pe
	}
	text := strconv.FormatFloat(m.sigma, 'g', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return "learn-" + text
}

// fit says whether the model has fitted; known is false where that is not measured.
func (m seen) fit() (reached, known bool) {
	if f := m.result.object("fit"); f != nil {
		return f["reached"].(bool), true
	}
	return m.result.measured("train") >= 0.99, m.config.text("task") == "lst"
}

func (m seen) unfitted() bool {
	reached, known := m.fit()
	return known && !reached
}

// course returns the model's own records.
func (m seen) course() (own []object) {
	for _, r := range m.records {
		if int(r.number("member")) == m.index {
			own = append(own, r)
		}
	}
	return own
}

// tables returns the encoding's tables [blocks][tokens*dim] with their width.
func (m seen) tables() (all [][]float64, dim int) {
	for block := 0; ; block++ {
		x, ok := m.tensors[fmt.Sprintf("pe/%d", block)]
		if !ok {
			return all, dim
		}
		size := x.shape[1] * x.shape[2]
		all, dim = append(all, x.values[m.index*size:(m.index+1)*size]), x.shape[2]
	}
}

// maps returns the attention maps of puzzles [layers][examples][heads*tokens*tokens], whose rows
// have n weights.
func (m seen) maps() (all [][][]float64, n int) {
	for layer := 0; ; layer++ {
		x, ok := m.tensors[fmt.Sprintf("attention/%d", layer)]
		if !ok {
			return all, n
		}
		examples, one := x.shape[1], x.shape[2]*x.shape[3]*x.shape[4]
		own := x.values[m.index*examples*one:]
		var layerMaps [][]float64
		for e := range examples {
			layerMaps = append(layerMaps, own[e*one:(e+1)*one])
		}
		all, n = append(all, layerMaps), x.shape[4]
	}
}

// moduleNames returns the names of the tokens' modules; nil where they have none.
func (m seen) moduleNames() []string {
	if text := m.about["module_names"]; text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}
