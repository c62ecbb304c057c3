package analysis

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array/arrayfile"
	"torchpe/data/partition"
	"torchpe/internal/metrics"
	"torchpe/internal/number"
	"torchpe/internal/wording"
	"torchpe/report/cohort"
)

// Table is a table of positions with one row per token.
type Table struct {
	Block int // block that adds it to its input, from 0; for a file its index in a stack of tables
	metrics.Table
}

// Subject says what was measured.
type Subject struct {
	Source string        // the run's directory, or FILE[:tensor]
	member *cohort.Model // of a run; nil of a file
}

// seed returns the seed of a run's member.
func (s Subject) seed() uint64 { return s.member.Member.Seed }

// object returns the known fields of the subject for JSON.
func (s Subject) object() Object {
	o := Object{{"source", s.Source}}
	if s.member != nil {
		o = append(o, Field{"member", s.member.Index}, Field{"seed", s.seed()}, Field{"pe", s.member.Label()})
	}
	return o
}

// cells returns the cells that start a row: source, encoding, member and seed.
func (s Subject) cells() []string {
	if s.member == nil {
		return []string{s.Source, number.Dash, number.Dash, number.Dash}
	}
	return []string{s.Source, s.member.Label(), strconv.Itoa(s.member.Index), strconv.FormatUint(s.seed(), 10)}
}

// label names the subject in a message.
func (s Subject) label() string {
	if s.member == nil {
		return s.Source
	}
	return fmt.Sprintf("%s, member %d", s.Source, s.member.Index)
}

// Model is a member of a run or an array from a file, with its tables.
type Model struct {
	Subject
	Tables []Table
	Names  []string // of the measured tokens, or nil

	from   int      // first position that is measured
	all    []string // names of all tokens, as files of modules and places have them; or nil
	tokens int      // number of tokens before --positions
	probes *cohort.Probes
	maps   *metrics.Attention // of a file of attention maps
}

// isRun reports whether the model is a member of a run.
func (m *Model) isRun() bool { return m.member != nil }

// tokenNames returns the names of the tokens, or else their positions.
func (m *Model) tokenNames() []string {
	if m.Names != nil {
		return m.Names
	}
	names := make([]string, m.Tables[0].Tokens)
	for i := range names {
		names[i] = strconv.Itoa(m.from + i)
	}
	return names
}

// maxTokens limits the rows of a table. Its matrix of distances then has 800 MB.
const maxTokens = 10_000

// parsePositions parses FROM:TO. Positions count from 0, TO is exclusive, and either end may be omitted.
func parsePositions(value string) (from, to int, err error) {
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

// models returns the input's models with their tables.
func (in *Input) models() ([]*Model, error) {
	if len(in.Args)+len(in.Files) == 0 {
		return nil, errors.New("nothing to measure: name the directory of a run, or --table FILE")
	}
	found, err := in.members(in.Args)
	if err != nil {
		return nil, err
	}
	var models []*Model
	for _, m := range found {
		switch err := m.readTables(); {
		case errors.Is(err, cohort.ErrNoTable):
			in.note("%s: the encoding %s %v: left out", m.Source, m.member.Label(), cohort.ErrNoTable)
		case err != nil:
			return nil, err
		default:
			models = append(models, m)
		}
	}
	for _, file := range in.Files {
		m, err := in.fileTables(file)
		if err != nil {
			return nil, err
		}
		models = append(models, m)
	}
	if len(models) == 0 {
		return nil, in.nothing("no table to measure")
	}
	for _, m := range models {
		if err := m.restrict(in); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// oneTable returns the members of a single run, each with one table, or a single table.
func (in *Input) oneTable() ([]*Model, error) {
	if len(in.Args)+len(in.Files) > 1 {
		return nil, fmt.Errorf("%s and %s: this command takes one", wording.Count(len(in.Args), "run"),
			wording.Count(len(in.Files), "table"))
	}
	models, err := in.models()
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		if m.Source != models[0].Source {
			return nil, fmt.Errorf("%s: %s and %s: choose one run", in.Args[0], models[0].Source, m.Source)
		}
		if len(m.Tables) > 1 {
			return nil, fmt.Errorf("%s: %d tables: choose one with --block", m.Source, len(m.Tables))
		}
	}
	return models, nil
}

// nothing returns an error that gives the notes as the reason why nothing is left, and removes them.
func (in *Input) nothing(what string) error {
	err := fmt.Errorf("%s: %s", what, strings.Join(unique(in.Notes), "; "))
	in.Notes = nil
	return err
}

func (in *Input) note(format string, args ...any) {
	in.Notes = append(in.Notes, fmt.Sprintf(format, args...))
}

// members returns the members of runs that did not diverge. A folder stands for all runs below it.
func (in *Input) members(dirs []string) (models []*Model, err error) {
	for _, dir := range dirs {
		found, skipped, err := cohort.Find(dir)
		if err != nil {
			return nil, err
		}
		for _, s := range skipped {
			if len(found) == 0 {
				return nil, errors.New(s.Reason)
			}
			in.note("left out: %s", s.Reason)
		}
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s: a file is not a run: measure its table with --table %s", dir,
				wording.Quote(dir))
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no run found: a run's directory has config.json, "+
				"result.json and probes.safetensors", dir)
		}
		for _, r := range found {
			own, err := in.membersOf(r)
			if err != nil {
				return nil, err
			}
			models = append(models, own...)
		}
	}
	if len(dirs) > 0 && len(models) == 0 {
		return nil, in.nothing("nothing to measure")
	}
	return models, nil
}

func (in *Input) membersOf(r *cohort.Run) (models []*Model, err error) {
	n := len(r.Config.Members)
	if in.Member >= n {
		return nil, fmt.Errorf("%s: member %d: the run has %d, from 0", r.Dir, in.Member, n)
	}
	probes, err := r.Probes()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: the run kept no probes (probes.safetensors)", r.Dir)
	}
	if err != nil {
		return nil, err
	}
	found, diverged := cohort.Models([]*cohort.Run{r})
	if diverged > 0 {
		in.note("%s: %d of %s diverged: left out", r.Dir, diverged, wording.Count(n, "member"))
	}
	for _, m := range found {
		if in.Member == All || m.Index == in.Member {
			models = append(models, &Model{Subject: Subject{r.Dir, &m}, probes: probes})
		}
	}
	return models, nil
}

// readTables reads the tables of a run's member.
func (m *Model) readTables() error {
	blocks := m.probes.Blocks()
	if len(blocks) == 0 {
		return cohort.ErrNoTable
	}
	for _, block := range blocks {
		t, err := m.probes.Table(m.member.Index, block)
		if err != nil {
			return err
		}
		m.Tables = append(m.Tables, Table{block, t})
	}
	m.Names = m.probes.TokenNames(m.Tables[0].Tokens)
	return nil
}

// isTable returns an error for a shape that neither a table nor a stack of tables can have.
func isTable(shape []int) error {
	if len(shape) < 2 || shape[len(shape)-2] < 2 || shape[len(shape)-1] < 1 {
		return fmt.Errorf("shape %v: want a table [tokens,dimensions] of 2 tokens or more, or a "+
			"stack of them [...,tokens,dimensions]", shape)
	}
	return nil
}

// fileTables reads the tables of FILE[:tensor].
func (in *Input) fileTables(reference string) (*Model, error) {
	a, err := arrayfile.Read(reference, in.Header, isTable)
	if err == nil {
		a, err = a.Named(nil)
	}
	if err != nil {
		return nil, err
	}
	if slices.Contains(a.Columns, mapModule) {
		return nil, fmt.Errorf("%s: the column %s is not a dimension of a table: leave it out, or measure the "+
			"run whose map this is", a.Source, mapModule)
	}
	if i := slices.IndexFunc(a.Columns, partition.IsHeading); i >= 0 {
		return nil, fmt.Errorf("%s: the column %s seems to hold labels, not a dimension of a table: leave it out, or "+
			"rename it", a.Source, a.Columns[i])
	}
	in.Notes = append(in.Notes, numberedNames(a))
	m := &Model{Subject: Subject{Source: a.Source}, Names: a.Rows}
	n, d := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
	for at := 0; at < len(a.Data); at += n * d {
		m.Tables = append(m.Tables, Table{at / (n * d), metrics.Table{Tokens: n, Dim: d, Values: a.Data[at : at+n*d]}})
	}
	if len(m.Tables) == 0 {
		return nil, fmt.Errorf("%s: shape %v holds no numbers", a.Source, a.Shape)
	}
	return m, nil
}

// numberedNames returns a note if the names of rows are numbers that do not count the rows. They may be
// a quoted column of data.
func numberedNames(a arrayfile.Array) string {
	counts := true
	for i, name := range a.Rows {
		v, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return ""
		}
		counts = counts && (v == float64(i) || v == float64(i+1))
	}
	if len(a.Rows) == 0 || counts {
		return ""
	}
	return fmt.Sprintf("%s: the first column (%s...) is taken as names of the rows, not as numbers: if it is "+
		"data, remove its quotes or change its heading (x1)", a.Source, a.Rows[0])
}

// restrict keeps the block and the positions that the input selects, and checks that all numbers are
// finite.
func (m *Model) restrict(in *Input) error {
	if in.Block != All {
		i := slices.IndexFunc(m.Tables, func(t Table) bool { return t.Block == in.Block })
		if i < 0 {
			var has []string
			for _, t := range m.Tables {
				has = append(has, fmt.Sprint(t.Block))
			}
			return fmt.Errorf("%s: block %d has no table: there are those of %s", m.Source, in.Block,
				wording.List(20, has))
		}
		m.Tables = m.Tables[i : i+1]
	}
	m.from, m.tokens, m.all = in.from, m.Tables[0].Tokens, m.Names
	for i := range m.Tables {
		t := &m.Tables[i]
		to := in.to
		if to == 0 {
			to = t.Tokens
		}
		if to > t.Tokens || to-m.from < 2 {
			return fmt.Errorf("%s: positions %d:%d of %d: want two or more that exist",
				m.Source, m.from, to, t.Tokens)
		}
		if to-m.from > maxTokens {
			return fmt.Errorf("%s: %d tokens: at most %d can be measured at once: choose with "+
				"--positions", m.Source, to-m.from, maxTokens)
		}
		if i == 0 && m.Names != nil {
			m.Names = m.Names[m.from:to]
		}
		t.Values, t.Tokens = t.Values[m.from*t.Dim:to*t.Dim], to-m.from
		for j, v := range t.Values {
			if v-v != 0 {
				return fmt.Errorf("%s: table %d: row %d, column %d (from 0) is %v: want finite numbers",
					m.Source, t.Block, m.from+j/t.Dim, j%t.Dim, v)
			}
		}
	}
	return nil
}
