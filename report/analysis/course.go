package analysis

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"torchpe/report/runs"
	"torchpe/train/runlog"
)

// CourseRecord is the size of an encoding's tables at a step of training, mean over blocks.
type CourseRecord struct {
	Step          int    `json:"step"`
	Epoch         int    `json:"epoch"`
	Frobenius     Number `json:"frobenius"`
	EffectiveRank Number `json:"effective_rank"`
}

// Course has the size of a model's tables over training.
type Course struct {
	Subject
	Records []CourseRecord `json:"records"`
}

// Courses returns the norm and effective rank that runs recorded over training. Members without
// them are left out, with a note.
func Courses(dirs []string, member int) (out []Course, notes []string, err error) {
	models, notes, err := members(dirs, member)
	if err != nil {
		return nil, nil, err
	}
	records := map[*runs.Run][]runlog.Record{}
	for _, m := range models {
		r := m.member.Run
		if records[r] == nil {
			if records[r], err = r.Records(); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", r.Dir, err)
			}
		}
		c := Course{Subject: m.Subject}
		for _, record := range m.member.Records(records[r]) {
			if record.PENorm == nil {
				continue
			}
			one := CourseRecord{record.Step, record.Epoch, Number(*record.PENorm), None}
			if record.PEEffectiveRank != nil {
				one.EffectiveRank = Number(*record.PEEffectiveRank)
			}
			c.Records = append(c.Records, one)
		}
		if c.Records == nil {
			notes = append(notes, fmt.Sprintf("%s: metrics.jsonl records no norm of the encoding "+
				"%s, which adds no table: left out", m.Source, m.PE))
			continue
		}
		out = append(out, c)
	}
	notes = unique(notes)
	if len(out) == 0 {
		return nil, nil, fmt.Errorf("nothing to list: %s", strings.Join(notes, "; "))
	}
	return out, notes, nil
}

// CoursesCSV returns a row a record, with an empty cell for what has no value.
func CoursesCSV(courses []Course) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"source", "pe", "member", "seed", "step", "epoch", "frobenius", "effective_rank"})
	cell := func(n Number) string {
		if !n.known() {
			return ""
		}
		return strconv.FormatFloat(float64(n), 'g', -1, 64)
	}
	for _, c := range courses {
		for _, r := range c.Records {
			w.Write([]string{c.Source, c.PE, strconv.Itoa(*c.Member),
				strconv.FormatUint(*c.Seed, 10), strconv.Itoa(r.Step), strconv.Itoa(r.Epoch),
				cell(r.Frobenius), cell(r.EffectiveRank)})
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
