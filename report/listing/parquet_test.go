package listing_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"torchpe/report/listing"
)

// written is a list of all kinds of columns, and its files.
func written(t *testing.T) (l *listing.List, csvPath, parquetPath string) {
	t.Helper()
	l, err := read(t, sample(t)).Select(listing.Query{Columns: []string{"run", "seed", "member", "sigma", "steps", "validation", "process", "test_mse_50"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	csvPath, parquetPath = filepath.Join(dir, "models.csv"), filepath.Join(dir, "models.parquet")
	if err := l.WriteCSV(csvPath); err != nil {
		t.Fatal(err)
	}
	if err := l.WriteParquet(parquetPath); err != nil {
		t.Fatal(err)
	}
	return l, csvPath, parquetPath
}

// types are those of the sample's columns; no model has a process, so that its column has no kind.
var types = []string{"string", "string", "int64", "double", "int64", "double", "double", "double"}

func TestParquet(t *testing.T) {
	l, _, path := written(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The frame of the format: PAR1, ..., the footer, its length, PAR1.
	n := len(text)
	if !bytes.HasPrefix(text, []byte("PAR1")) || !bytes.HasSuffix(text, []byte("PAR1")) || int(binary.LittleEndian.Uint32(text[n-8:])) > n-12 {
		t.Fatalf("no Parquet: %q...", text[:min(n, 20)])
	}
	f, err := parquet.OpenFile(bytes.NewReader(text), int64(n))
	if err != nil {
		t.Fatal(err)
	}
	columns, want := rows(t, l)
	if f.NumRows() != int64(len(want)) || len(f.RowGroups()) != 1 {
		t.Fatalf("%d rows in %d groups", f.NumRows(), len(f.RowGroups()))
	}
	for j, field := range f.Schema().Fields() {
		got := map[parquet.Kind]string{parquet.ByteArray: "string", parquet.Int64: "int64", parquet.Double: "double"}[field.Type().Kind()]
		if field.Name() != columns[j] || got != types[j] || !field.Optional() {
			t.Errorf("column %d is %s of %s, want %s of %s", j, field.Name(), got, columns[j], types[j])
		}
		pages := f.RowGroups()[0].ColumnChunks()[j].Pages()
		page, err := pages.ReadPage()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]parquet.Value, len(want)+1)
		n, err := page.Values().ReadValues(values)
		if err != nil && err != io.EOF || n != len(want) {
			t.Fatalf("%s: %d values, %v", columns[j], n, err)
		}
		for i, v := range values[:n] {
			if expected := want[i][columns[j]]; v.IsNull() != (expected == nil) || !v.IsNull() && v.String() != fmt.Sprint(expected) {
				t.Errorf("%s, row %d: %v, want %v", columns[j], i, v, expected)
			}
		}
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var again bytes.Buffer
	if err := l.Parquet(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("the same list gives other bytes, %v", err)
	}
}

// A reader that shares nothing with the writer, hyparquet, finds the same columns and numbers. It is not in Debian:
// npm install --prefix .build/tools hyparquet
func TestParquetInJavaScript(t *testing.T) {
	tools := filepath.Join("..", "..", ".build", "tools")
	if _, err := os.Stat(filepath.Join(tools, "node_modules", "hyparquet")); err != nil {
		t.Skip("no hyparquet: npm install --prefix .build/tools hyparquet")
	}
	l, _, path := written(t)
	cmd := exec.Command("node", "--input-type=module", "-e", `
import { parquetReadObjects, parquetMetadataAsync, asyncBufferFromFile } from "hyparquet"
const file = await asyncBufferFromFile(process.argv[1])
const meta = await parquetMetadataAsync(file)
const fields = meta.schema.slice(1)
console.log(JSON.stringify({
  names: fields.map(f => f.name),
  types: fields.map(f => f.type + " " + (f.converted_type ?? "") + " " + f.repetition_type),
  rows: await parquetReadObjects({ file }),
}, (_, v) => typeof v === "bigint" ? Number(v) : v ?? null))`, path)
	cmd.Dir = tools
	out, err := cmd.Output()
	if err != nil {
		var e *exec.ExitError
		errors.As(err, &e)
		t.Fatalf("%v %s", err, e.Stderr)
	}
	var got struct {
		Names, Types []string
		Rows         []map[string]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	columns, want := rows(t, l)
	wantTypes := make([]string, len(types))
	for i, name := range types {
		wantTypes[i] = map[string]string{"string": "BYTE_ARRAY UTF8 OPTIONAL", "int64": "INT64 INT_64 OPTIONAL", "double": "DOUBLE  OPTIONAL"}[name]
	}
	if !reflect.DeepEqual(got.Names, columns) || !reflect.DeepEqual(got.Types, wantTypes) || !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("%+v\nwant %v %q %v", got, columns, wantTypes, want)
	}
}

func TestCSV(t *testing.T) {
	l, path, _ := written(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns, want := rows(t, l)
	if len(got) != len(want)+1 || strings.Join(got[0], " ") != strings.Join(columns, " ") {
		t.Fatalf("%d lines, %v", len(got), got[0])
	}
	for i, row := range want {
		for j, name := range columns {
			cell := got[i+1][j]
			switch v := row[name].(type) {
			case nil:
				if cell != "" {
					t.Errorf("%s: %q is not empty", name, cell)
				}
			case float64:
				if n, err := strconv.ParseFloat(cell, 64); err != nil || n != v {
					t.Errorf("%s: %q, want %g", name, cell, v)
				}
			default:
				if cell != v {
					t.Errorf("%s: %q, want %v", name, cell, v)
				}
			}
		}
	}
}
