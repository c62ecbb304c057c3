package analysis

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/internal/metrics"
)

// Names of the columns before the coordinates in a map's file.
const (
	mapMember = "member"
	mapToken  = "token"
	mapModule = "module"
)

// mapAxis names the column of an axis, counted from 0.
func mapAxis(axis int) string { return fmt.Sprintf("x%d", axis+1) }

// mapColumns returns the columns of the tokens and of the first coordinate, given a file's first line.
// Both are -1 if the file is no map.
func mapColumns(head []string) (token, from int) {
	token = slices.Index(head, mapToken)
	if token != 0 && !(token == 1 && head[0] == mapMember) {
		return -1, -1
	}
	from = token + 1
	if from < len(head) && head[from] == mapModule {
		from++
	}
	for i, name := range head[from:] {
		if name != mapAxis(i) {
			return -1, -1
		}
	}
	if from == len(head) {
		return -1, -1
	}
	return token, from
}

// maxMapBytes limits the size of a map's file.
const maxMapBytes = 256 << 20

// readMap reads what mapsCSV wrote: the names of the tokens and one table per member. It returns nil
// for any other file.
func readMap(path string) (*Model, error) {
	if !strings.EqualFold(filepath.Ext(path), ".csv") {
		return nil, nil
	}
	start, err := array.FirstBytes(path, 1<<16)
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(start), "\n")
	token, from := mapColumns(strings.Split(strings.TrimRight(first, "\r"), ","))
	if from < 0 {
		return nil, nil
	}
	body, err := array.ReadText(path, maxMapBytes)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	members, err := mapMembers(rows, token, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m := &Model{Subject: Subject{Source: path}, Names: members[0].Names}
	for i, one := range members {
		t := one.Tables[0]
		t.Block = i
		m.Tables = append(m.Tables, t)
	}
	return m, nil
}

// mapMembers returns the members of a map by number. Rows may be in any order: the tokens of every member
// are put in the order of the first member's.
func mapMembers(rows [][]string, token, from int) (members []*Model, err error) {
	by := map[string]*Model{}
	for i, row := range rows[1:] {
		name := "" // if there is only one member
		if token == 1 {
			name = row[0]
		}
		m := by[name]
		if m == nil {
			m = &Model{Subject: Subject{Source: "member " + name},
				Tables: []Table{{Table: metrics.Table{Dim: len(row) - from}}}}
			by[name], members = m, append(members, m)
		}
		m.Names = append(m.Names, row[token])
		t := &m.Tables[0]
		t.Tokens++
		for k, cell := range row[from:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s is %q: want a number", i+2, rows[0][from+k], cell)
			}
			t.Values = append(t.Values, v)
		}
	}
	if members == nil {
		return nil, errors.New("no tokens")
	}
	slices.SortStableFunc(members, func(a, b *Model) int { // by number
		return cmp.Or(cmp.Compare(len(a.Source), len(b.Source)), cmp.Compare(a.Source, b.Source))
	})
	first := members[0]
	if len(first.Names) < 2 {
		return nil, errors.New("one token of a member: want 2 or more")
	}
	for i, m := range members {
		if len(m.Names) != len(first.Names) {
			return nil, fmt.Errorf("%s: %d tokens, and %s has %d: want the same", m.Source, len(m.Names),
				first.Source, len(first.Names))
		}
		if !slices.Equal(m.Names, first.Names) {
			if members[i], err = rowsOf(m, first.Names); err != nil {
				return nil, err
			}
		}
	}
	return members, nil
}
