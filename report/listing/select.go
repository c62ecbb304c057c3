package listing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"torchpe/report/table"
)

// Query says which models of a list to take, in which order, with which columns.
type Query struct {
	Where      []string // conditions, each KEY OP VALUE, joined by commas; all must hold
	Sort       string   // columns, joined by commas; with - before it, the greatest first
	Columns    []string // the usual ones where empty
	Unfinished bool     // only models of runs that are not finished
}

// Select returns the models that a query asks for. An error says what is wrong with the query.
func (l *List) Select(q Query) (*List, error) {
	out := &List{Skipped: l.Skipped, keys: l.keys}
	var conditions []condition
	for _, where := range q.Where {
		more, err := l.conditions(where)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, more...)
	}
	for _, r := range l.Rows {
		status := r.values["status"].String()
		if q.Unfinished && status != statusRunning && status != statusStopped {
			continue
		}
		if !slices.ContainsFunc(conditions, func(c condition) bool { return !c.holds(r) }) {
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

// condition is one part of a filter.
type condition struct {
	column column
	op     string
	value  table.Cell
	glob   *regexp.Regexp // of ~ and !~
}

// conditionStart matches where a condition begins: its key and its operator.
var conditionStart = regexp.MustCompile(`(?:^|,)\s*([A-Za-z][\w./-]*)\s*(<=|>=|!=|!~|==|=|<|>|~)`)

// conditions reads a filter.
func (l *List) conditions(where string) ([]condition, error) {
	const want = `want KEY OP VALUE, such as pe=learn,sigma<=0.5; OP is one of = != < <= > >= ~ !~`
	heads := conditionStart.FindAllStringSubmatchIndex(where, -1)
	if len(heads) == 0 || heads[0][0] != 0 || where[0] == ',' {
		return nil, fmt.Errorf("%q: %s", where, want)
	}
	var out []condition
	for i, h := range heads {
		end := len(where)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		key, op, value := where[h[2]:h[3]], where[h[4]:h[5]], strings.TrimSpace(where[h[5]:end])
		if strings.Contains(value, ",") && !strings.HasPrefix(value, "[") {
			return nil, fmt.Errorf("%q: %s", where[h[2]:end], want)
		}
		c := condition{op: op, value: parseValue(value)}
		if c.value.IsMissing() {
			c.value = table.Text(value)
		}
		var err error
		if c.column, err = l.find(key); err != nil {
			return nil, err
		}
		switch op {
		case "==":
			c.op = "="
		case "~", "!~":
			c.glob = glob(value)
		case "<", "<=", ">", ">=":
			if _, ok := c.value.Float(); !ok {
				return nil, fmt.Errorf("%q: %q is no number; texts are compared with = != ~ !~",
					where[h[2]:end], value)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// glob returns a pattern in which * stands for any text and ? for any sign.
func glob(pattern string) *regexp.Regexp {
	quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("(?s)^" + quoted + "$")
}

// holds says whether a model meets the condition. What is missing is unequal to any value and equal
// to an empty one; it is neither less nor greater.
func (c condition) holds(r Row) bool {
	v := r.values[c.column.Name]
	switch c.op {
	case "=":
		return equal(v, c.value)
	case "!=":
		return !equal(v, c.value)
	case "~":
		return c.glob.MatchString(v.String())
	case "!~":
		return !c.glob.MatchString(v.String())
	}
	if _, ok := v.Float(); !ok {
		return false
	}
	order := v.Compare(c.value)
	switch c.op {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// equal reports whether a value is that of a condition.
func equal(v, w table.Cell) bool {
	if v.IsMissing() {
		return w.String() == ""
	}
	return v.Compare(w) == 0
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
