package paper

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// printedSum is the SHA-256 of printed.csv as it was compared, number by number, with the paper's
// tables: TestPrintedAgainstPaper.
const printedSum = "9a8e58d032e140823d713ea6733d905f7d3b1e023d893842ba5c208347cc1708"

// The transcription of the paper's tables is the one that was compared with the paper: 140 means
// with their SDs, over 15 seeds.
func TestPrintedNumbers(t *testing.T) {
	expect.Equal(t, "printed.csv has changed, compare it with the paper: SHA-256",
		fmt.Sprintf("%x", sha256.Sum256([]byte(printedCSV))), printedSum)
	all := printedNumbers()
	count := map[string]int{}
	for _, p := range all {
		count[p.Table+" "+p.Quantity]++
		if p.Mean < 0 || p.Mean > 1 || p.SD < 0 || p.SD > .5 {
			t.Errorf("%+v", p)
		}
	}
	for what, want := range map[string]int{
		"1 validation": 8, "1 train": 8, "A2 validation": 20, "A2 train": 20, "A3 cosine": 20,
		"A4 adam": 4, "A4 sgd": 4,
		"A5 validation": 20, "A5 train": 20, "A6 validation": 8, "A6 train": 8,
	} {
		expect.Equal(t, "numbers of Table "+what, count[what], want)
		delete(count, what)
	}
	expect.Equal(t, fmt.Sprintf("numbers, and unknown ones (%v)", count), [2]int{len(all), len(count)},
		[2]int{140, 0})
}

// paperTable is a table of the paper as shared/paper/tables has it.
type paperTable struct {
	file, id   string
	quantities map[string][2]string // the columns of its mean and SD
}

var paperTables = []paperTable{
	{"table_1.csv", "1", accuracyNames}, {"table_a2.csv", "A2", accuracyNames},
	{"table_a5.csv", "A5", accuracyNames},
	{"table_a6.csv", "A6", accuracyNames}, {"table_a3.csv", "A3",
		map[string][2]string{"cosine": {"cosine", "sd"}}},
	{"table_a4.csv", "A4", map[string][2]string{"adam": {"adam_acc", "adam_sd"},
		"sgd": {"sgd_acc", "sgd_sd"}}},
}

var accuracyNames = map[string][2]string{
	"validation": {"validation_acc", "validation_sd"}, "train": {"training_acc", "training_sd"},
}

// Each number of the paper's tables stands in its cell: that of its encoding and quantity, in the
// table's order. Without the tables this is not checked.
func TestPrintedAgainstPaper(t *testing.T) {
	dir := os.Getenv("TORCHPE_PAPER_TABLES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "paper", "tables")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("printed.csv was not compared with the paper's tables, which are not here: ", err)
	}
	numbers := 0
	for _, p := range paperTables {
		rows := readCSV(t, filepath.Join(dir, p.file))
		got, encodings := Table(p.id)
		if len(encodings) != len(rows)-1 {
			t.Fatalf("%s: %d encodings, want %d", p.file, len(encodings), len(rows)-1)
		}
		for i, row := range rows[1:] {
			expect.Equal(t, fmt.Sprintf("%s, row %d", p.file, i), encodings[i], paperLabel(row[0]))
			for name, from := range p.quantities {
				n := got[[2]string{encodings[i], name}]
				for k, have := range []float64{n.Mean, n.SD} {
					want := expect.Must(strconv.ParseFloat(row[slices.Index(rows[0], from[k])], 64))
					expect.Equal(t, fmt.Sprintf("%s, %s: %s", p.file, row[0], from[k]), have, want)
					numbers++
				}
			}
		}
	}
	expect.Equal(t, "numbers", numbers, 280)
}

// paperLabel is a row's encoding as a report has it: of "0.100" learn-0.1.
func paperLabel(text string) string {
	sigma, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return strings.TrimSuffix(text, " (ground truth)")
	}
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if sigma == math.Trunc(sigma) {
		text += ".0"
	}
	return "learn-" + text
}

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	f := expect.Must(os.Open(path))
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(path, err)
	}
	return rows
}

// The grids of σ are those of the tables: Figure 2's from 0.1 to 2 in tenths (section 2.1), and the
// encodings the paper's eight, each once.
func TestGrids(t *testing.T) {
	all := Sigmas()
	for i, sigma := range all {
		expect.Equal(t, fmt.Sprintf("σ %d", i), sigma, float64(i+1)/10)
	}
	if len(all) != 20 || !slices.Equal(OptimizerSigmas(), []float64{0.01, 0.05, 0.1, 0.2}) ||
		!slices.Equal(MaskedSigmas(), []float64{0.1, 0.2, 1, 2}) {
		t.Errorf("%v, %v, %v", all, OptimizerSigmas(), MaskedSigmas())
	}
	if e := Encodings(); len(e) != 8 || e[0] != Truth || e[1] != Learned || e[7] != "c-nope" {
		t.Error(e)
	}
	// Of the published seeds, with spaces between and brackets around them.
	const published = "b0cc32ca577a811a7b15144d271a68389c393f283b0ed96fec552afb123165f4"
	expect.Equal(t, fmt.Sprintf("SHA-256 of the seeds %v", Seeds()),
		fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, Seeds()))), published)
	expect.Equal(t, "test of the truth", TruthTest().String(), "t(13) = 0.96, p = 0.35")
}
