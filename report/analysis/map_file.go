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
)

// The columns of a map's file that hold no coordinates.
const (
	mapMember = "member"
	mapToken  = "token"
	mapModule = "module"
)

// mapAxis names the column of an axis, counted from 0.
func mapAxis(axis int) string { return fmt.Sprintf("x%d", axis+1) }

// mapColumns returns the places of the tokens and of the first coordinate in a map's first line; -1
// where it is the first line of no map.
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

// maxMapBytes is the longest file of a map that is read.
const maxMapBytes = 256 << 20

// readMap reads what mapsCSV wrote: the names of tokens, and a table a member. It returns nil for a
// file of another kind.
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

// mapMembers returns the members of a map, in the order of their numbers. Rows may be in any order:
// the tokens of all members are brought into the order of the first's.
func mapMembers(rows [][]string, token, from int) (members []*Model, err error) {
	by := map[string]*Model{}
	for i, row := range rows[1:] {
		name := "" // of the only member
		if token == 1 {
			name = row[0]
		}
		m := by[name]
		if m == nil {
			m = &Model{Subject: Subject{Source: "member " + name}, Tables: []Table{{Dim: len(row) - from}}}
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
	slices.SortStableFunc(members, func(a, b *Model) int { // by their numbers
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
