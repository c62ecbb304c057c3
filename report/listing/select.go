package listing

import (
	"slices"
	"strings"

	"torchpe/report/table"
)

// Query says which models of a list to take, in which order, with which columns.
type Query struct {
	Where      []string // filters that table.ParseConditions reads; all must hold
	Sort       string   // columns, joined by commas; with - before it, the greatest first
	Columns    []string // the usual ones where empty
	Unfinished bool     // only models of runs that are not finished
}

// Select returns the models that a query asks for. An error says what is wrong with the query.
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

// sort orders the rows by columns. What is missing comes last, and models that are equal keep their
// order.
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
