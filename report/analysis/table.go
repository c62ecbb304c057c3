package analysis

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/internal/wording"
	"torchpe/report/runs"
)

// Table is a table of positions: a row a token.
type Table struct {
	Block       int // of the model, from 0, at whose input it is added; of a file its place in a stack of tables
	Tokens, Dim int
	Values      []float64 // [Tokens,Dim]
}

// Subject says what was measured.
type Subject struct {
	Source string  `json:"source"` // the run's directory, or FILE[:tensor]
	Member *int    `json:"member,omitempty"`
	Seed   *uint64 `json:"seed,omitempty"`
	PE     string  `json:"pe,omitempty"` // as the paper names it: learn-0.2
}

// Model is a member of a run, or an array of a file, with its tables.
type Model struct {
	Subject
	Tables []Table
	Names  []string // of the tokens, or nil

	from   int        // first position that was taken
	tokens int        // before positions were taken
	member runs.Model // of a run
	probes *runs.Probes
	maps   *runs.Attention // of a file of attention maps
}

// isRun says whether the model is a member of a run.
func (m *Model) isRun() bool { return m.probes != nil }

// task returns the task of a run, "" for a file.
func (m *Model) task() string {
	if !m.isRun() {
		return ""
	}
	return m.member.Run.Config.Task
}

// maxTokens is the largest table that is measured: its matrix of distances has 800 MB.
const maxTokens = 10_000

// All chooses all members, or all blocks.
const All = -1

// Selection says which tables to take of runs and files.
type Selection struct {
	Runs   []string    // directories: runs, or folders with runs below them
	Files  []string    // FILE[:tensor], of shape [n,d], or stacks of tables [...,n,d]
	Member int         // of runs, or All
	Block  int         // or All
	From   int         // first position that is taken
	To     int         // the position after the last; 0 = all
	Header text.Choice // whether the first line of text files holds names
}

// ParsePositions reads from:to, counted from 0 without the last, either of which may be left out.
func ParsePositions(value string) (from, to int, err error) {
	if value == "" {
		return 0, 0, nil
	}
	first, last, ok := strings.Cut(value, ":")
	if first != "" {
		from, err = strconv.Atoi(first)
	}
	if last != "" && err == nil {
		to, err = strconv.Atoi(last)
	}
	if !ok || err != nil || from < 0 || last != "" && to <= from {
		return 0, 0, fmt.Errorf("positions %q: want FROM:TO with 0 <= FROM < TO, such as 0:128", value)
	}
	return from, to, nil
}

// Tables returns the models of a selection with their tables, and notes on what was left out.
func Tables(s Selection) (models []*Model, notes []string, err error) {
	if len(s.Runs)+len(s.Files) == 0 {
		return nil, nil, errors.New("nothing to measure: name the directory of a run, or --table FILE")
	}
	found, notes, err := members(s.Runs, s.Member)
	if err != nil {
		return nil, nil, err
	}
	without := map[string]bool{}
	for _, m := range found {
		if err := m.readTables(); errors.Is(err, runs.ErrNoTable) {
			if !without[m.Source] {
				notes = append(notes, fmt.Sprintf("%s: the encoding %s %v: left out", m.Source,
					m.PE, runs.ErrNoTable))
			}
			without[m.Source] = true
			continue
		} else if err != nil {
			return nil, nil, err
		}
		models = append(models, m)
	}
	for _, file := range s.Files {
		m, note, err := fileTables(file, s.Header)
		if err != nil {
			return nil, nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
		models = append(models, m)
	}
	if len(models) == 0 {
		return nil, nil, fmt.Errorf("no table to measure: %s", strings.Join(notes, "; "))
	}
	for _, m := range models {
		if err := m.restrict(s); err != nil {
			return nil, nil, err
		}
	}
	return models, notes, nil
}

// members opens runs and returns their members that did not diverge; folders that hold runs stand
// for all runs below them.
func members(dirs []string, member int) (models []*Model, notes []string, err error) {
	for _, dir := range dirs {
		found, skipped, err := runs.Find(dir)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range skipped {
			if len(found) == 0 {
				return nil, nil, fmt.Errorf("%s: %s", s.Dir, s.Reason)
			}
			notes = append(notes, fmt.Sprintf("%s: left out: %s", s.Dir, s.Reason))
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, nil, fmt.Errorf("%s: a file is no run: measure its table with --table %s", dir,
				wording.Quote(dir))
		}
		if len(found) == 0 {
			return nil, nil, fmt.Errorf("%s: no run is there: a run's directory has config.json, "+
				"result.json and probes.safetensors", dir)
		}
		for _, r := range found {
			own, diverged, err := membersOf(r, member)
			if err != nil {
				return nil, nil, err
			}
			if diverged > 0 {
				notes = append(notes, fmt.Sprintf("%s: %d of %s diverged: left out", r.Dir,
					diverged, wording.Count(len(r.Config.Members), "member")))
			}
			models = append(models, own...)
		}
	}
	if len(dirs) > 0 && len(models) == 0 {
		return nil, nil, fmt.Errorf("nothing to measure: %s", strings.Join(notes, "; "))
	}
	return models, notes, nil
}

func membersOf(r *runs.Run, member int) (models []*Model, diverged int, err error) {
	if n := len(r.Config.Members); member != All && (member < 0 || member >= n) {
		return nil, 0, fmt.Errorf("%s: member %d: the run has %d, from 0", r.Dir, member, n)
	}
	probes, err := r.Probes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%s: the run kept no probes (probes.safetensors)", r.Dir)
	}
	if err != nil {
		return nil, 0, err
	}
	found, _ := runs.Models([]*runs.Run{r})
	diverged = len(r.Config.Members) - len(found)
	for _, m := range found {
		if member == All || m.Index == member {
			models = append(models, &Model{
				Subject: Subject{Source: r.Dir, Member: &m.Index, Seed: &m.Member.Seed,
					PE: m.Label()}, member: m, probes: probes,
			})
		}
	}
	return models, diverged, nil
}

// readTables reads the tables of a run's member.
func (m *Model) readTables() error {
	blocks := m.probes.Blocks()
	if len(blocks) == 0 {
		return runs.ErrNoTable
	}
	for _, block := range blocks {
		t, err := m.probes.Table(m.member.Index, block)
		if err != nil {
			return err
		}
		m.Tables = append(m.Tables, Table{Block: block, Tokens: t.Tokens, Dim: t.Dim, Values: t.Values})
	}
	m.Names = m.probes.TokenNames(m.Tables[0].Tokens)
	return nil
}

// isTable says whether a shape is that of a table or a stack of them.
func isTable(shape []int) error {
	if len(shape) < 2 || shape[len(shape)-2] < 2 || shape[len(shape)-1] < 1 {
		return fmt.Errorf("shape %v: want a table [tokens,dimensions] of 2 tokens or more, or a "+
			"stack of them [...,tokens,dimensions]", shape)
	}
	return nil
}

// fileTables reads the tables of FILE[:tensor], or what MapsCSV wrote, with a note where a column of
// numbers was taken as names.
func fileTables(reference string, header text.Choice) (*Model, string, error) {
	if m, err := readMap(reference); m != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, "", err
	}
	a, err := arrayfile.Read(reference, header, isTable)
	if err == nil {
		a, err = a.Named(nil)
	}
	if err != nil {
		return nil, "", err
	}
	m := &Model{Subject: Subject{Source: a.Source}, Names: a.Rows}
	n, d := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
	for at := 0; at < len(a.Data); at += n * d {
		m.Tables = append(m.Tables, Table{Block: at / (n * d), Tokens: n, Dim: d, Values: a.Data[at : at+n*d]})
	}
	if len(m.Tables) == 0 {
		return nil, "", fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	return m, numberedNames(a), nil
}

// restrict keeps the block and the positions that a selection names, and checks that numbers are
// finite.
func (m *Model) restrict(s Selection) error {
	if s.Block != All {
		if s.Block < 0 || s.Block >= len(m.Tables) {
			return fmt.Errorf("%s: block %d: it has %s, from 0", m.Source, s.Block,
				wording.Count(len(m.Tables), "table"))
		}
		m.Tables = m.Tables[s.Block : s.Block+1]
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		to := s.To
		if to == 0 {
			to = t.Tokens
		}
		if to > t.Tokens || to-s.From < 2 {
			return fmt.Errorf("%s: positions %d:%d of %d: want two or more that are there",
				m.Source, s.From, to, t.Tokens)
		}
		if to-s.From > maxTokens {
			return fmt.Errorf("%s: %d tokens: at most %d are measured at once: choose with "+
				"--positions", m.Source, to-s.From, maxTokens)
		}
		if i == 0 {
			m.from, m.tokens = s.From, t.Tokens
		}
		if i == 0 && m.Names != nil {
			m.Names = m.Names[s.From:to]
		}
		t.Values, t.Tokens = t.Values[s.From*t.Dim:to*t.Dim], to-s.From
		for j, v := range t.Values {
			if v-v != 0 {
				return fmt.Errorf("%s: table %d: row %d, column %d is %v: want finite numbers",
					m.Source, t.Block, s.From+j/t.Dim, j%t.Dim, v)
			}
		}
	}
	return nil
}
