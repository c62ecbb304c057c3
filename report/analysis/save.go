package analysis

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/npy"
	"torchpe/data/array/text"
)

// CheckOut says whether Save knows the kind of a file, and may write it.
func CheckOut(path string, force bool, extensions ...string) error {
	extension := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(extensions, extension) {
		return fmt.Errorf("%s: want a file called %s", path, strings.Join(extensions, " or "))
	}
	if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists: use --force to overwrite it", path)
	}
	return nil
}

// Save writes a matrix with its names: .csv with them, .npy as float64 without.
func Save(path string, t text.Table) error {
	var b bytes.Buffer
	var err error
	if strings.EqualFold(filepath.Ext(path), ".npy") {
		err = npy.Write(&b, array.Array{Shape: t.Shape, Data: t.Data}, npy.Float64)
	} else {
		err = text.Write(&b, t, text.Comma)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// DistanceTable returns the distances of a model as a table with the names of tokens, or those of
// several as a stack.
func DistanceTable(all []DistanceMatrix) text.Table {
	n := len(all[0].Tokens)
	t := text.Table{Columns: all[0].Tokens, Rows: all[0].Tokens, Array: array.Array{Shape: []int{n, n}}}
	if len(all) > 1 {
		t.Shape = []int{len(all), n, n}
	}
	for _, d := range all {
		t.Data = append(t.Data, d.Values...)
	}
	return t
}

// MapsCSV returns a row a token: its name, its module where modules are known, and its coordinates
// x1, x2... Of several maps the first column is the member.
func MapsCSV(all []Map) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	m := all[0]
	head := []string{mapToken}
	if len(all) > 1 {
		head = []string{mapMember, mapToken}
	}
	if m.Modules != nil {
		head = append(head, mapModule)
	}
	for i := range m.Coordinates[0] {
		head = append(head, fmt.Sprintf("x%d", i+1))
	}
	w.Write(head)
	for k, m := range all {
		for i, at := range m.Coordinates {
			row := []string{m.Tokens[i]}
			if len(all) > 1 {
				member := k
				if m.Member != nil {
					member = *m.Member
				}
				row = []string{strconv.Itoa(member), m.Tokens[i]}
			}
			if m.Modules != nil {
				row = append(row, m.Modules[i])
			}
			for _, v := range at {
				row = append(row, strconv.FormatFloat(float64(v), 'g', -1, 64))
			}
			w.Write(row)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// The columns of a map's file that hold no coordinates.
const (
	mapMember = "member"
	mapToken  = "token"
	mapModule = "module"
)

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
		if name != fmt.Sprintf("x%d", i+1) {
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

// readMap reads what MapsCSV wrote: the names of tokens, and a table a member. It returns nil for a
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
	head := strings.Split(strings.TrimRight(first, "\r"), ",")
	token, from := mapColumns(head)
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
	m := &Model{Subject: Subject{Source: path}, Names: members[0].tokens}
	for _, one := range members {
		m.Tables = append(m.Tables, Table{Block: len(m.Tables), Tokens: len(one.tokens), Dim: len(head) - from,
			Values: one.values})
	}
	return m, nil
}

// mapMemberRows are the rows of one member in a map's file.
type mapMemberRows struct {
	name   string
	tokens []string
	values []float64
}

// mapMembers reads the members of a map, whose coordinates begin at the column from, with their tokens
// in one order: that of the first. Rows may be in any order, as the members and tokens are named.
func mapMembers(rows [][]string, token, from int) ([]mapMemberRows, error) {
	var members []mapMemberRows
	for i, row := range rows[1:] {
		if i == 0 || token == 1 && row[0] != rows[i][0] {
			members = append(members, mapMemberRows{name: row[0]})
		}
		one := &members[len(members)-1]
		one.tokens = append(one.tokens, row[token])
		for k, cell := range row[from:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %s is %q: want a number", i+2, rows[0][from+k], cell)
			}
			one.values = append(one.values, v)
		}
	}
	if members == nil {
		return nil, errors.New("no tokens")
	}
	if slices.ContainsFunc(members, func(m mapMemberRows) bool { return !slices.Equal(m.tokens, members[0].tokens) }) {
		var err error
		if members, err = sortedMembers(members); err != nil {
			return nil, err
		}
	}
	if len(members[0].tokens) < 2 {
		return nil, errors.New("one token of a member: want 2 or more")
	}
	return members, nil
}

// sortedMembers joins what is of one member, and brings the tokens of all into the order of the first.
func sortedMembers(parts []mapMemberRows) (members []mapMemberRows, err error) {
	for _, part := range parts {
		at := slices.IndexFunc(members, func(m mapMemberRows) bool { return m.name == part.name })
		if at < 0 {
			at = len(members)
			members = append(members, mapMemberRows{name: part.name})
		}
		members[at].tokens = append(members[at].tokens, part.tokens...)
		members[at].values = append(members[at].values, part.values...)
	}
	slices.SortStableFunc(members, func(a, b mapMemberRows) int { // by their numbers
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	for i, m := range members {
		dim := len(m.values) / len(m.tokens)
		own := &Model{Subject: Subject{Source: "member " + m.name}, Names: m.tokens,
			Tables: []Table{{Tokens: len(m.tokens), Dim: dim, Values: m.values}}}
		if len(m.tokens) != len(members[0].tokens) {
			return nil, fmt.Errorf("%s: %d tokens, and member %s has %d: want the same", own.Source, len(m.tokens),
				members[0].name, len(members[0].tokens))
		}
		if own, err = rowsOf(own, members[0].tokens); err != nil {
			return nil, err
		}
		members[i].tokens, members[i].values = own.Names, own.Tables[0].Values
	}
	return members, nil
}
