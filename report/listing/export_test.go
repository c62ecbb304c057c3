package listing

// Value returns the row's value in the column of that name.
func (r Row) Value(name string) Value { return r.values[name] }
