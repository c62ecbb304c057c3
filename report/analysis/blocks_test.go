package analysis

import (
	"fmt"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/report/internal/synthetic"
	"torchpe/train/config"
)

// modelOf makes a model of a run whose tables are of some blocks.
func modelOf(source string, member cohort.Model, blocks ...int) *Model {
	m := &Model{Subject: Subject{Source: source, member: &member}}
	for _, b := range blocks {
		m.Tables = append(m.Tables, Table{b, metrics.Table{Tokens: 2, Dim: 1, Values: []float64{float64(b), 9}}})
	}
	return m
}

// Blocks are named by their number in the model, also where the first has no table, and tables of two runs are
// compared block by block.
func TestBlocksWithoutTables(t *testing.T) {
	member := cohort.Model{Run: &cohort.Run{}}
	m := modelOf("m", member, 1, 2)
	expect.NoError(t, m.restrict(&Input{Block: 2}))
	expect.Equal(t, "values of block 2", m.Tables[0].Values[0], 2)
	expect.Error(t, modelOf("m", member, 1, 2).restrict(&Input{Block: 0}),
		"block 0 has no table: there are those of 1, 2")
	r := expect.Must(ofBlocks(modelOf("r", member, 0, 1, 2), modelOf("m", member, 1, 2)))
	expect.Equal(t, "blocks of the reference", [2]int{r.Tables[0].Block, r.Tables[1].Block}, [2]int{1, 2})
	expect.Error(t, expect.ErrorOf(ofBlocks(modelOf("r", member, 0, 1), modelOf("m", member, 1, 2))),
		"the reference has no table of block 2")
	expect.Equal(t, "one table for all", len(expect.Must(ofBlocks(modelOf("r", member, 0), m)).Tables), 1)
	layered := cohort.Model{Run: &cohort.Run{}}
	layered.Run.Config.PE = "nope@1,learn@2"
	expect.Error(t, expect.ErrorOf(ofBlocks(modelOf("r", layered, 1), modelOf("m", member, 0, 1))),
		"the reference has no table of block 0")
	file := modelOf("file", member, 0, 1)
	file.member = nil
	expect.Equal(t, "a stack of a file", len(expect.Must(ofBlocks(file, modelOf("m", member, 1, 2))).Tables), 2)
}

// Tables of one seed and one name begin alike, in different encodings too.
func TestNoteOfSameDraw(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"learn", "learn"}: 1, {"rope+learn", "alibi+learn(x=1)"}: 1, {"learn@1,nope@2", "nope@1,learn@2"}: 1,
		{"learn", "rope+learn"}: 0, {"rope", "rope"}: 0, {"learn", "learn-2d"}: 0,
	} {
		var models [2]*Model
		for i, pe := range pair {
			run := &cohort.Run{}
			run.Config.PE = pe
			models[i] = modelOf(pe, cohort.Model{Run: run, Member: config.Member{Seed: 1}}, 0)
		}
		in := &Input{}
		in.noteSameDraw(models[0], models[1])
		expect.Equal(t, fmt.Sprint("notes of ", pair), len(in.Notes), want)
	}
}

// Of members with one seed, that with the model's other settings is its reference, else the first, with a note.
func TestReferenceOfOneSeed(t *testing.T) {
	small, large, other := .1, 2., 1.
	of := func(sigma *float64) *Model {
		return modelOf("r", cohort.Model{Run: &cohort.Run{}, Member: config.Member{Seed: 1, Sigma: sigma}}, 0)
	}
	in := &Input{}
	references := []*Model{of(&small), of(&large)}
	expect.Equal(t, "of sigma 2", in.sameSeed(of(&large), references), references[1])
	expect.Equal(t, "notes", len(in.Notes), 0)
	expect.Equal(t, "of sigma 1", in.sameSeed(of(&other), references), references[0])
	expect.Contains(t, strings.Join(in.Notes, ""), "the reference has 2 members of seed 1, and none has")
}

// A folder of several runs is no reference, and runs are scored by their own distance.
func TestFoldersOfRuns(t *testing.T) {
	dir := t.TempDir()
	for name, distance := range map[string]string{"a": "cosine", "b": ""} {
		synthetic.Write(t, dir, synthetic.Run{Name: name, Task: "masked", PE: "learn", Sigma: 1, Seeds: []int{3},
			Distance: distance, Subjects: []string{"a", "b"}})
	}
	_, _, err := run("procrustes " + dir + "/a --reference " + dir)
	expect.Error(t, err, "has 2 runs: name one")
	got, notes := result(t, "network "+dir+"/a --json")
	expect.Equal(t, "distance", got["distance"], any("cosine"))
	expect.Equal(t, "notes", strings.Contains(strings.Join(notes, ""), "distances"), false)
	expect.Contains(t, expect.Must(ownFoot("network "+dir+"/a")), "; cosine distances")
	_, notes = result(t, "network "+dir+" --json")
	expect.Contains(t, strings.Join(notes, ""), "measured their networks by several distances (--pe-distance)")
	got, _ = result(t, "network "+dir+"/a --distance euclidean --json")
	expect.Equal(t, "distance", got["distance"], any("euclidean"))
}

// The tokens of a table without names are those that the file of modules names: the order of a file of coordinates
// does not matter.
func TestCoordinatesOfNamedModules(t *testing.T) {
	var table, modules, ordered, reversed string
	for i := range 8 {
		table += fmt.Sprintf("%d.5,%d\n", i*i%7, i%3)
		modules += fmt.Sprintf("t%d,%s\n", i, "ab"[i/4:i/4+1])
		ordered += fmt.Sprintf("t%d,%d,%d\n", i, i, i*i)
		reversed += fmt.Sprintf("t%d,%d,%d\n", 7-i, 7-i, (7-i)*(7-i))
	}
	line := "network --permutations 99 --table " + expect.File(t, "table.csv", table) + " --modules " +
		expect.File(t, "modules.csv", "name,module\n"+modules) + " --coordinates "
	p := func(coordinates string) float64 {
		object, _ := result(t, line+expect.File(t, "xy.csv", "name,x,y\n"+coordinates))
		return jsonNumber(object, "models/0/blocks/0/p_smooth")
	}
	expect.Equal(t, "p of reversed rows", p(reversed), p(ordered))
	foot := expect.Must(ownFoot(line + expect.File(t, "xy.csv", "name,x,y\n"+reversed)))
	expect.Contains(t, foot, "tokens matched by name")
}

// ownFoot returns the line below the first table.
func ownFoot(line string) (string, error) {
	r, _, err := run(line)
	if err != nil {
		return "", err
	}
	return r.Tables[0].Foot, nil
}
