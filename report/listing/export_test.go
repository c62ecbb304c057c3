package listing

import "torchpe/report/table"

// Value returns the row's value in the column of that name.
func (r Row) Value(name string) table.Cell { return r.values[name] }
