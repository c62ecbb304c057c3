package listing

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Parquet writes the list as an Apache Parquet file with one row group: a column is of strings, 64-bit integers or doubles, and null
// where a value is missing. The same list always gives the same bytes.
func (l *List) Parquet(w io.Writer) error {
	group := parquet.Group{}
	kinds := make([]kind, len(l.columns))
	names := make([]string, len(l.columns))
	for j, c := range l.columns {
		kinds[j], names[j] = l.kindOf(c), c.Name
		node := parquet.String()
		switch kinds[j] {
		case integer:
			node = parquet.Int(64)
		case number, missing:
			node = parquet.Leaf(parquet.DoubleType)
		}
		group[c.Name] = parquet.Compressed(parquet.Optional(node), &parquet.Snappy)
	}
	out := parquet.NewWriter(w, parquet.NewSchema("models", ordered{group, names}), parquet.CreatedBy("torchpe", "", ""))
	rows := make([]parquet.Row, len(l.Rows))
	for i, r := range l.Rows {
		for j, name := range names {
			rows[i] = append(rows[i], r.values[name].parquet(kinds[j]).Level(0, definition(r.values[name]), j))
		}
	}
	if _, err := out.WriteRows(rows); err != nil {
		return err
	}
	return out.Close()
}

// definition is the definition level of an optional value.
func definition(v Value) int {
	if v.kind == missing {
		return 0
	}
	return 1
}

// parquet is the value in a column of the kind that all its values have in common.
func (v Value) parquet(column kind) parquet.Value {
	switch {
	case v.kind == missing:
		return parquet.NullValue()
	case column == text:
		return parquet.ByteArrayValue([]byte(v.String()))
	case column == number:
		return parquet.DoubleValue(v.number)
	}
	return parquet.Int64Value(v.whole)
}

// ordered is a group whose fields have an order of their own; those of a Group are in that of their names.
type ordered struct {
	parquet.Group
	names []string
}

// Fields returns the fields in their order.
func (o ordered) Fields() []parquet.Field {
	fields := slices.Clone(o.Group.Fields())
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name())
	})
	return fields
}
