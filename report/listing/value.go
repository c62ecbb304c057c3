package listing

import (
	"encoding/json"
	"strconv"
	"strings"

	"torchpe/report/table"
)

// parseValue returns the value that the text of a setting has: a number where it spells one.
func parseValue(s string) table.Cell {
	if n, err := strconv.Atoi(s); err == nil {
		return table.Count(n)
	}
	if v, ok := table.Text(s).Float(); ok {
		return table.Number(v)
	}
	if s == "" || s == "null" {
		return table.Cell{}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(s), &list) != nil {
		return table.Text(s)
	}
	parts := make([]string, len(list)) // as people write them
	for i, item := range list {
		if json.Unmarshal(item, &parts[i]) != nil {
			parts[i] = string(item)
		}
	}
	return table.Text(strings.Join(parts, ", "))
}
