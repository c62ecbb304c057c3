package analysis

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// What is wrong with the input is said, with what was wanted and what is there.
func TestRefusals(t *testing.T) {
	data := expect.Must(filepath.Abs("testdata"))
	dir := filepath.Dir(files(t, map[string]string{
		"nan.csv": "1.5,2\nnan,3\n4,5\n", "zeros.csv": "0,0\n0,0\n0,0\n",
		"vast.csv": "1.5e308,0\n1e308,1\n0,0\n", "labels.txt": "1\n1\n1\n",
		"three.txt": "1\n2\n2\n", "empty.csv": "", "cut.npy": "\x93NUMPY\x01\x00v\x00{'descr'",
		"odd.dat": "1", "none.npy": fmt.Sprintf("\x93NUMPY\x01\x00v\x00%-117s\n",
			"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }"),
		"odd.csv": "1.5,2,3\n2,2,5\n", "good.csv": "2,2\n1,1\n3,5\n", "ragged.csv": "a,b\n1,2\n3\n",
		"logits.csv": "0.5,0.5\n1,3\n", "rows.csv": "0.5,0.5\n0.25,0.75\n",
		"long.csv": strings.Repeat("1.5,2\n", 10001), "cut.safetensors": "\x10\x00\x00\x00\x00\x00\x00\x00{}",
		"commas.csv": "\"1,5\",2\n\"2,5\",3\n", "tabs.tsv": "1,5\t2\n2,5\t3\n", "head.csv": "a,\"1.234,5\"\n1,2\n",
		"counts.csv": "4,.5\n2,.5\n3,.1\n", "k.csv": "k,a\n1,.5\n2,.5\n3,.1\n",
		"tenth.csv": strings.Repeat(".1,.2,.3\n", 12), "two.csv": ".1,.5\n.3,.2\n.7,.1\n",
		"last.csv": "3e9,0.1\n3000000000.0000005,0.1\n3e9,0.1\n", "square.csv": "0,1,2\n1,0,3\n2,3,0\n",
		"twice.csv":    "label,a\n1,.5\n1,.5\n3,.1\n",
		"wide.csv":     "token,x1\n0,1\n1,2,3\n",
		"labelled.csv": "token,x1,x2,network\na,0,1,1\nb,1,2,1\nc,4,2,2\n",
		"areas.csv":    "area,a,b\nx,2,2\ny,1,1\nz,3,5\nw,1,2\n",
		"roi.csv":      "area,a,b\nmixed,2,2\nmixed_ROI,1,1\nthalamus,3,5\nr_v1,1,2\n",
	})("x"))
	t.Chdir(dir)
	tensors := filepath.Join(data, "model.safetensors")
	parcels := filepath.Join(filepath.Dir(data), template)
	const network = "network --table good.csv --modules three.txt "
	const toeplitz = "toeplitz --table good.csv "
	for _, c := range []struct {
		line string
		want []string
	}{
		{"rank", []string{"nothing to measure", "--table"}},
		{"rank --table missing.npy", []string{"missing.npy", "no such file"}},
		{"rank --table " + dir, []string{"a folder, not a regular file"}},
		{"rank --table " + tensors + ":embeddings.position_embedding.weight",
			[]string{"did you mean", "embeddings.position_embeddings.weight", "[9 8]"}},
		{"rank --table " + tensors, []string{"several tensors", "attention.key.weight [6 8]"}},
		{"rank --table " + tensors + ":attention.key.bias", []string{"shape [6]", "want a table"}},
		{"rank --table " + data + "/table.mat:note", []string{"char"}},
		{"rank --table good.csv:x", []string{"good.csv", "omit :x"}},
		{"rank --table odd.dat", []string{"odd.dat", ".safetensors"}},
		{"rank --table empty.csv", []string{"empty.csv"}},
		{"rank --table ragged.csv", []string{"ragged.csv"}},
		{"rank --table cut.npy", []string{"cut.npy"}},
		{"rank --table cut.safetensors", []string{"cut.safetensors"}},
		{"rank --table nan.csv", []string{"nan.csv", "row 1, column 0"}},
		{"rank --table long.csv", []string{"long.csv", "at most 10000"}},
		{"rank --table good.csv --block 1", []string{"block 1", "block 1 has no table: there are those of 0"}},
		{"rank --table good.csv --block -2", []string{"--block -2"}},
		{"rank --table good.csv --member -2", []string{"--member -2"}},
		{"rank --table good.csv --positions 2:1", []string{`--positions: positions "2:1"`, "FROM:TO"}},
		{"rank --table good.csv --positions 5", []string{"FROM:TO"}},
		{"rank --table good.csv --positions a:b", []string{"FROM:TO"}},
		{"rank --table good.csv --positions 0:0", []string{"FROM:TO"}},
		{"rank --table good.csv --positions 1:2:3", []string{"FROM:TO"}},
		{"rank --table good.csv --positions 99999999999999999999:", []string{"FROM:TO"}},
		{"rank --table good.csv --positions 0:9", []string{"0:9 of 3"}},
		{"rank nowhere", []string{"nowhere"}},
		{"rank --table labelled.csv", []string{"the column network seems to hold labels"}},
		{"rank .", []string{"no run found"}},
		{"rank good.csv", []string{"a file is not a run", "--table good.csv"}},
		// A quoted decimal comma would be taken as a name, and its column lost.
		{"rank --table commas.csv", []string{`commas.csv:1:1: the first cell is "1,5"`, "write numbers with a point"}},
		{"rank --table tabs.tsv", []string{`tabs.tsv:1:1: the first cell is "1,5"`}},
		{"rank --table head.csv", []string{`head.csv:1: cell 2 is "1.234,5"`}},
		{"rank --table counts.csv", []string{"may be the tokens' names or numbers"}},
		{"rank --table k.csv", []string{"may be the tokens' names or numbers"}},
		{"rank --table twice.csv", []string{"1 in row 2 is also in a row above"}},
		{"rank --table wide.csv", []string{"wide.csv"}},
		{"network --table good.csv", []string{"good.csv", "--modules"}},
		{"network --table good.csv --modules labels.txt", []string{"module 1", "two modules"}},
		{"network --table good.csv --modules rows", []string{"3 tokens fill no square grid"}},
		{network + "--distance cosin", []string{"--distance", `"cosine"`}},
		{network + "--permutations -1", []string{"--permutations -1"}},
		{network + "--null spn", []string{`"spn"`, `"spin"`}},
		{network + "--null moran --coordinates grid", []string{"--permutations"}},
		{network + "--permutations 9 --null moran", []string{"--coordinates"}},
		{network + "--coordinates grid", []string{"--permutations", "such as 999"}},
		{network + "--permutations 9 --null moran --coordinates grid", []string{"3 tokens fill no square grid"}},
		{network + "--permutations 9 --null moran --coordinates grid --distances x", []string{"give one"}},
		{network + "--permutations 9 --null moran --distances good.csv", []string{"square matrix"}},
		{"network --weights good.csv --modules three.txt --permutations 9 --null moran --coordinates grid",
			[]string{"--weights has none"}},
		{"network --table " + data + "/table.npy --modules three.txt", []string{"9 tokens", "labels 3"}},
		{"network --weights good.csv --modules three.txt", []string{"[3 2]", "[n,n]"}},
		{"network --weights good.csv --table good.csv --modules three.txt", []string{"--weights"}},
		{"procrustes --table good.csv", []string{"3 tokens fill no square grid"}},
		{"rank --table none.npy", []string{"shape [0 2]: want a table"}},
		{"procrustes --table " + tensors + ":embeddings.word_embeddings.weight --reference 2d-fixed",
			[]string{"20 tokens fill no square grid"}},
		{"procrustes --table odd.csv --reference 1d-fixed", []string{"3 dimensions: want a multiple of 2"}},
		{"procrustes --table good.csv --reference nowhere", []string{"reference", "nowhere"}},
		{"procrustes --table good.csv --reference " + data + "/table.npy", []string{"[3,2]", "[9,8]"}},
		{"procrustes --table " + tensors + ":stack --block 0 --reference " + tensors + ":stack --positions 0:1",
			[]string{"0:1 of 9"}},
		{"procrustes good.csv rows.csv", []string{"--table good.csv --reference rows.csv"}},
		{"attention", []string{"no run"}},
		{"attention x", []string{"--reference"}},
		{"attention x --reference y --pooling layer", []string{"--pooling", `"layers"`}},
		{"attention good.csv --reference good.csv", []string{"good.csv", "[3 2]", "[examples,tokens,tokens]"}},
		{"attention logits.csv --reference good.csv", []string{"logits.csv: row 1 sums to 4", "sum to 1 within 0.001"}},
		{"attention rows.csv --reference nowhere.npy", []string{"reference", "nowhere.npy"}},
		{"distances --table good.csv --table good.csv", []string{"takes one"}},
		{"distances --table " + tensors + ":stack --block -1", []string{"2 tables", "--block"}},
		{"distances --table " + tensors + ":embeddings.word_embeddings.weight --positions 0:21",
			[]string{"0:21 of 20"}},
		{toeplitz + "--query good.csv", []string{"--key"}},
		{toeplitz + "--query " + tensors + ":attention.query.weight --key good.csv", []string{"[6 8]", "2 inputs"}},
		{toeplitz + "--query good.csv --key good.csv --heads 2", []string{"2 heads for 3 outputs"}},
		{toeplitz + "--query good.csv --key good.csv --heads 0", []string{"--heads 0"}},
		{toeplitz + "--query good.csv --key rows.csv", []string{"rows.csv has 2 outputs, the query's has 3"}},
		{toeplitz + "--query good.csv --key good.csv --in-out", []string{"[inputs,outputs] with 2 inputs"}},
		{toeplitz + "--query good.csv --key good.csv --words none.npy", []string{"[0 2]", "[words,2]"}},
		{toeplitz + "--query good.csv --key good.csv --words nan.csv", []string{"nan.csv: row 1, column 0 (from 0)"}},
		{toeplitz + "--query nan.csv --key good.csv", []string{"nan.csv: row 1, column 0 (from 0) is NaN"}},
		{toeplitz + "--heads 2", []string{"--query"}},
		{toeplitz + "--shuffles -1", []string{"--shuffles -1"}},
		{"map --table good.csv --method tsne", []string{"pca and mds"}},
		{"map --table good.csv --dims 3", []string{"want 1 to 2"}},
		{"map --table good.csv --dims 1 --out x.svg", []string{"a drawing has two axes"}},
		{"map --table good.csv --template x.nii --out x.csv", []string{"only for --out X.pscalar.nii"}},
		{"map --table good.csv --out x.pscalar.nii", []string{"give --template FILE"}},
		{"map --table good.csv --out x.pscalar.nii --template good.csv", []string{"--template", "not a NIfTI file"}},
		{"map --table good.csv --out x.pscalar.nii --template " + parcels, []string{"4 parcels", "good.csv"}},
		{"map --table areas.csv --out x.pscalar.nii --template " + parcels, []string{"names 4 of its 4 tokens"}},
		{"map --table roi.csv --out x.pscalar.nii --template " + parcels, []string{"the name of one parcel"}},
		{"map --table good.csv --modules absent.txt", []string{"absent.txt"}},
		{"map --table zeros.csv", []string{"zeros.csv", "equal"}},
		{"map --table tenth.csv", []string{"tenth.csv: no map: all rows are equal"}},
		{"map --table vast.csv", []string{"vast.csv: no map: the numbers are too large"}},
		{"map --table tenth.csv --method mds", []string{"no map: all rows are the same: every distance is 0"}},
		{"map --table last.csv --method mds", []string{"no map: all rows are the same: every distance is 0"}},
		{"map --table good.csv --method mds --distance corr2", []string{"no map: row 0 and 1 more are one number"}},
		{"map --table two.csv --method mds --distance corr2", []string{"no map: all rows are the same by corr2"}},
		// Flags without effect.
		{"map --table good.csv --distance cosine", []string{"--distance cosine without --method mds"}},
		{"rank --table good.csv --member 0", []string{"--member 0: only runs have members"}},
		{"attention rows.csv --reference rows.csv --member 0", []string{"--member 0: only runs have members"}},
		{"rank nowhere --member 0", []string{"nowhere: "}},
		{"rank --table " + tensors + ":stack --header yes", []string{"--header is for text files"}},
		{"network --table " + data + "/table.npy --modules rows --header yes", []string{"--header is for text files"}},
		{"network --table " + data + "/table.npy --modules gone.txt --header yes", []string{"gone.txt: no such file"}},
		{"rank --table empty.csv --header yes", []string{"empty.csv: an empty file"}},
		{"rank --table missing.csv --header yes", []string{"missing.csv: no such file"}},
		{"rank --table nan.csv --header no", []string{"row 1, column 0"}},
		{network + "--seed 4", []string{"--seed 4 without --permutations"}},
		{toeplitz + "--seed 4 --shuffles 0", []string{"--seed 4 with --shuffles 0"}},
		{"network --weights square.csv --modules three.txt --block 0", []string{"--weights is scored as it is"}},
		{"network --weights square.csv --modules three.txt --distance cosine",
			[]string{"--weights is scored as it is"}},
	} {
		_, _, err := run(c.line)
		expect.Error(t, err, c.want...)
	}
	if _, _, err := run("rank --table long.csv --positions :10000"); err != nil { // as many as may be
		t.Error(err)
	}
}

// A row of attention that is no distribution is named by its layer, example, head and place.
func TestRowsOfAttention(t *testing.T) {
	save := func(shape []int, at int, v float64) string {
		size := 1
		for _, n := range shape {
			size *= n
		}
		data := slices.Repeat([]float64{0.25, 0.75}, size/2)
		data[at] = v
		return arrayFile(t, data, shape...)
	}
	almost := save([]int{2, 2}, 0, 0.2509) // what half precision leaves
	for _, c := range []struct {
		file, want string
	}{
		{save([]int{2, 2}, 2, 0.5), "a.npy: row 1 sums to 1.25"},
		{save([]int{3, 2, 2}, 4+1, -0.75), "a.npy: example 1, row 0, column 1 is -0.75"},
		{save([]int{2, 3, 2, 2}, 12+8+2, math.NaN()), "a.npy: layer 1, example 2, row 1, column 0 is NaN"},
		{save([]int{2, 3, 4, 2, 2}, 48+2*16+3*4+3, math.Inf(1)),
			"a.npy: layer 1, example 2, head 3, row 1, column 1 is +Inf"},
		{save([]int{2, 2}, 0, 0.2511), "row 0 sums to 1.0011: want weights of attention after the " +
			"softmax, whose rows (the last axis) sum to 1 within 0.001"},
		{save([]int{2, 4}, 0, 0.25), "shape [2 4]: want attention maps [tokens,tokens]"},
		{save([]int{1, 1, 1, 1, 2, 2}, 0, 0.25), "[layers,examples,heads,tokens,tokens]"},
		{save([]int{1, 1, 2, 2, 2}, 0, 0.25), "1 layer, 1 example, 2 heads, 2 tokens, the reference"},
		{almost, ""},
	} {
		_, _, err := run("attention " + c.file + " --reference " + almost)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
