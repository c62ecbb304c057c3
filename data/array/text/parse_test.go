package text

import (
	"io"

	"torchpe/data/array"
)

// Parse reads a table from r to its end. The name stands for the file in errors, and its extension
// says what it does for a file's.
func Parse(r io.Reader, name string, o Options) (Table, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Table{}, err
	}
	return parse(data, name, o, array.NewBudget())
}
