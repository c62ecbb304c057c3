package table

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Condition is a part of a filter: KEY OP VALUE.
type Condition struct {
	Key, Op string // Op is one of = != < <= > >= ~ !~
	Value   Cell
	glob    *regexp.Regexp // of ~ and !~
}

// String writes the condition.
func (c Condition) String() string { return c.Key + c.Op + c.Value.String() }

// conditionStart matches where a condition begins: its key and its operator.
var conditionStart = regexp.MustCompile(`(?:^|,)\s*([A-Za-z][\w./-]*)\s*(<=|>=|!=|!~|==|=|<|>|~)`)

// ParseConditions reads a filter: KEY OP VALUE, joined by commas.
func ParseConditions(text string) ([]Condition, error) {
	const want = `want KEY OP VALUE, such as pe=learn,sigma<=0.5; OP is one of = != < <= > >= ~ !~`
	heads := conditionStart.FindAllStringSubmatchIndex(text, -1)
	if len(heads) == 0 || heads[0][0] != 0 || text[0] == ',' {
		return nil, fmt.Errorf("%q: %s", text, want)
	}
	var out []Condition
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		key, op, value := text[h[2]:h[3]], text[h[4]:h[5]], strings.TrimSpace(text[h[5]:end])
		isList := strings.HasPrefix(value, "[")
		if strings.Contains(value, ",") && !isList || strings.IndexAny(value, "<=>~") == 0 {
			return nil, fmt.Errorf("%q: %s", text[h[2]:end], want)
		}
		c := Condition{Key: key, Op: op, Value: Parse(value)}
		if c.Value.IsMissing() {
			c.Value = Text(value)
		}
		switch op {
		case "==":
			c.Op = "="
		case "~", "!~":
			c.glob = glob(value)
		case "<", "<=", ">", ">=":
			if _, ok := c.Value.Float(); !ok {
				return nil, fmt.Errorf("%q: %q is not a number; texts are compared with = != ~ !~",
					text[h[2]:end], value)
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

// Holds reports whether the value of the condition's key meets it. What is missing is unequal to any value
// and equal to an empty one; it is neither less nor greater.
func (c Condition) Holds(v Cell) bool {
	switch c.Op {
	case "=":
		return equal(v, c.Value)
	case "!=":
		return !equal(v, c.Value)
	case "~":
		return c.glob.MatchString(v.String())
	case "!~":
		return !c.glob.MatchString(v.String())
	}
	if _, ok := v.Float(); !ok {
		return false
	}
	order := v.Compare(c.Value)
	switch c.Op {
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
func equal(v, w Cell) bool {
	if v.IsMissing() {
		return w.String() == ""
	}
	return v.Compare(w) == 0
}

// Parse returns the cell of a text, such as that of a setting: a number where it spells one, and a list as
// people write it.
func Parse(s string) Cell {
	if n, err := strconv.Atoi(s); err == nil {
		return Count(n)
	}
	if v, ok := Text(s).Float(); ok {
		return Number(v)
	}
	if s == "" || s == "null" {
		return Cell{}
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(s), &list) != nil {
		return Text(s)
	}
	parts := make([]string, len(list))
	for i, item := range list {
		if json.Unmarshal(item, &parts[i]) != nil {
			parts[i] = string(item)
		}
	}
	return Text(strings.Join(parts, ", "))
}
