package paper

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"torchpe/internal/expect"
	"torchpe/report/internal/synthetic"
)

// What a reader sees of a report is as it was: page, captions, notes and tables, the words in figures
// in the order in which they are drawn, and the headings of CSV files.
func TestTexts(t *testing.T) {
	learn := func(name string, sigma float64, seeds ...int) synthetic.Run {
		return synthetic.Run{Name: name, Task: "lst", PE: "learn", Sigma: sigma, Seeds: seeds}
	}
	slow, text, once := learn("slow", .2, 1, 2), learn("text", 1, 3), learn("once", 2, 1, 2, 3)
	slow.LR, text.Fidelity, once.Placement = 1e-3, "text", "input"
	for name, runs := range map[string][]synthetic.Run{
		// groups of one, two and three models, two of one sigma, another reading and another placement
		"few": {learn("a", .2, 1, 2, 3), learn("b", 1, 1, 2), learn("c", 2, 1), slow, text, once,
			{Name: "truth", Task: "lst", PE: "2d-fixed", Seeds: []int{1, 2}}},
		"three": {learn("a", .2, 1, 2, 3), learn("b", 2, 1, 2, 3), learn("c", 3, 3),
			{Name: "truth", Task: "lst", PE: "2d-fixed", Seeds: []int{3, 2, 1}},
			{Name: "network", Task: "nmar", PE: "learn", Sigma: .1, Seeds: []int{1, 2, 3}},
			{Name: "brain", Task: "fmri", PE: "rope", Seeds: []int{1, 2}, MaskLevel: .9}},
		"variant":    {{Name: "sgd", Task: "lst", PE: "learn", Sigma: .05, Optimizer: "sgd", Seeds: []int{1, 2}}},
		"everything": worldRuns(),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "everything" {
				t.Skip("makes every figure and table")
			}
			dir := synthetic.Dir(t, runs...)
			_, out := write(t, dir)
			expect.Golden(t, name+".txt", bytes.ReplaceAll(readText(out), []byte(dir), []byte("DIR")))
		})
	}
}

var (
	unread  = regexp.MustCompile(`(?s)<(style|script|svg)[ >].*?</(style|script|svg)>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
	written = regexp.MustCompile(`(?s)<text[^>]*>(.*?)</text>`)
)

// readText returns the words of the page of a report and of its figures, and the first lines of its CSV
// files.
func readText(dir string) []byte {
	var b bytes.Buffer
	page := unread.ReplaceAllString(string(expect.Must(os.ReadFile(filepath.Join(dir, "index.html")))), "")
	for _, line := range strings.Split(tag.ReplaceAllString(page, "\n"), "\n") {
		if line = strings.TrimSpace(html.UnescapeString(line)); line != "" {
			fmt.Fprintln(&b, line)
		}
	}
	files := expect.Must(filepath.Glob(filepath.Join(dir, "*")))
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(strings.Compare(filepath.Ext(a), filepath.Ext(b)), strings.Compare(a, b))
	})
	for _, file := range files {
		text := string(expect.Must(os.ReadFile(file)))
		switch filepath.Ext(file) {
		case ".csv":
			head, _, _ := strings.Cut(text, "\n")
			fmt.Fprintf(&b, "\n%s: %s\n", filepath.Base(file), head)
		case ".svg":
			fmt.Fprintf(&b, "\n%s:", filepath.Base(file))
			for _, words := range written.FindAllStringSubmatch(text, -1) {
				fmt.Fprint(&b, " | ", html.UnescapeString(words[1]))
			}
			fmt.Fprintln(&b)
		}
	}
	return b.Bytes()
}

// Probes that cannot be read, whenever that is, end a report with an error or a note that names the run.
func TestUnreadableProbes(t *testing.T) {
	dir := synthetic.Dir(t,
		synthetic.Run{Name: "learned", Task: "lst", PE: "learn", Sigma: .2, Seeds: []int{1}},
		synthetic.Run{Name: "truth", Task: "lst", PE: "2d-fixed", Seeds: []int{1}},
		synthetic.Run{Name: "network", Task: "nmar", PE: "learn", Sigma: .1, Seeds: []int{1}})
	runs := regexp.MustCompile("learned|truth|network")
	for n := 1; ; n++ {
		x := expect.Faults{N: n, Err: errors.New("no such luck"), Of: func(operation, path string) bool {
			return operation == "open" && strings.HasSuffix(path, "probes.safetensors")
		}}
		var said []string
		err := x.During(func() error {
			s, err := Read(dir, "")
			if err == nil {
				said = s.Notes
				_, err = s.items()
			}
			return err
		})
		if x.Done < n {
			if n < 10 {
				t.Errorf("probes were opened %d times", n-1)
			}
			return
		}
		if !runs.MatchString(fmt.Sprint(err, said)) {
			t.Errorf("opened for the time %d: %v, %q", n, err, said)
		}
	}
}
