package listing

import (
	"torchpe/report/cohort"
	"torchpe/report/item"
	"torchpe/report/table"
	"torchpe/train/runlog"
)

// Value returns the row's value in the column of that name.
func (r Row) Value(name string) table.Cell { return r.values[name] }

// ListOf returns a list of finished models.
func ListOf(models []cohort.Model) (*List, error) {
	l := &List{}
	for _, m := range models {
		identity, err := m.Identity()
		if err != nil {
			return nil, err
		}
		r := Row{model: m, identity: identity, measures: m.Result.Measures, values: map[string]table.Cell{
			"status": table.Text(runlog.StatusDone), "seed": seedValue(m.Member.Seed)}}
		for key, v := range m.Result.Measures {
			r.values[item.MeasureName(key)] = table.Number(v)
		}
		l.Rows = append(l.Rows, r)
	}
	return l, nil
}
