package listing

import (
	"slices"
	"strings"

	"torchpe/report/table"
)

// Query selects models of a list, their order, and the columns.
type Query struct {
	Where      []string // filters that table.ParseConditions reads; all must hold
	Sort       string   // columns, joined by commas; a - before it sorts in descending order
	Columns    []string // the usual ones if empty
	Unfinished bool     // only models of unfinished runs
}

// Select returns the models that match a query. It returns an error for an invalid query.
func (l *List) Select(q Query) (*List, error) {
	out := &List{Skipped: l.Skipped, keys: l.keys}
	var conditions []table.Condition
	for _, where := range q.Where {
		more, err := table.ParseConditions(where)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			column, err := l.find(c.Key)
			if err != nil {
				return nil, err
			}
			c.Key = column.Name
			conditions = append(conditions, c)
		}
	}
	for _, r := range l.Rows {
		status := r.values["status"].String()
		if q.Unfinished && status != statusRunning && status != statusStopped {
			continue
		}
		if !slices.ContainsFunc(conditions, func(c table.Condition) bool {
			return !c.Holds(r.values[c.Key])
		}) {
			out.Rows = append(out.Rows, r)
		}
	}
	if err := out.sort(q.Sort); err != nil {
		return nil, err
	}
	for _, name := range q.Columns {
		c, err := l.find(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out.columns, c) {
			out.columns = append(out.columns, c)
		}
	}
	if len(q.Columns) == 0 {
		out.columns = out.usualColumns()
	}
	return out, nil
}

// sort sorts the rows by columns. Missing values come last, and equal models keep their order.
func (l *List) sort(by string) error {
	if by == "" {
		return nil
	}
	type order struct {
		name    string
		falling bool
	}
	var orders []order
	for part := range strings.SplitSeq(by, ",") {
		name, falling := strings.CutPrefix(strings.TrimSpace(part), "-")
		c, err := l.find(name)
		if err != nil {
			return err
		}
		orders = append(orders, order{c.Name, falling})
	}
	slices.SortStableFunc(l.Rows, func(a, b Row) int {
		for _, o := range orders {
			v, w := a.values[o.name], b.values[o.name]
			switch {
			case v.IsMissing() && w.IsMissing():
				continue
			case v.IsMissing():
				return 1
			case w.IsMissing():
				return -1
			}
			c := v.Compare(w)
			if o.falling {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return nil
}
