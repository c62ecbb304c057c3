package item

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"torchpe/internal/metrics"
	"torchpe/report/cohort"
	"torchpe/report/figure"
	"torchpe/report/table"
)

// Tokens holds names and modules of a run's tokens.
type Tokens struct {
	Names   []string // numbers from 0 if the run has no names
	Labels  []int    // the module of each; nil if the run has none
	Modules []string // names of the modules; may be empty
	Order   []int    // the tokens by module, else in their order
}

// TokensOf returns a run's names and modules of its n tokens.
func TokensOf(p *cohort.Probes, n int) (Tokens, error) {
	t := Tokens{Names: p.TokenNames(n)}
	for i := range n {
		if len(t.Names) <= i {
			t.Names = append(t.Names, fmt.Sprint(i))
		}
		t.Order = append(t.Order, i)
	}
	labels, ok, err := p.Modules()
	if err != nil || !ok || len(labels) != n {
		return t, err
	}
	t.Labels = labels
	t.Modules = p.Text("module_names")
	t.Modules = t.Modules[:min(slices.Max(t.Labels)+1, len(t.Modules))] // those that have tokens
	slices.SortStableFunc(t.Order, func(a, b int) int { return cmp.Compare(t.Labels[a], t.Labels[b]) })
	return t, nil
}

// Module names the module of a token, by its number if modules have no names; "" if there are none.
func (t Tokens) Module(i int) string {
	switch {
	case t.Labels == nil:
		return ""
	case t.Labels[i] < len(t.Modules):
		return t.Modules[t.Labels[i]]
	}
	return fmt.Sprint(t.Labels[i])
}

// Matrix returns a panel of values [n,n] between tokens, in their order.
func (t Tokens) Matrix(values []float64) figure.Matrix {
	n := len(t.Names)
	m := figure.Matrix{Rows: n, Columns: n, Note: "n = 1 model", HideNames: true}
	if t.Labels != nil {
		m.GroupNames = t.Modules
	}
	for _, i := range t.Order {
		for _, j := range t.Order {
			m.Values = append(m.Values, values[i*n+j])
		}
		if t.Labels != nil {
			m.Groups = append(m.Groups, t.Labels[i])
		}
	}
	return m
}

// OffDiagonal returns the values off the diagonals of matrices. The diagonals are 1 and would take most of the
// colour range.
func OffDiagonal(all []figure.Matrix) (values []float64) {
	for _, m := range all {
		for i, v := range m.Values {
			if i/m.Columns != i%m.Columns && !math.IsNaN(v) {
				values = append(values, v)
			}
		}
	}
	return values
}

// SquareTable returns values [n,n] between n tokens as a table, in the given order of tokens.
func SquareTable(values []float64, order []int, name func(token int) table.Cell) table.Table {
	t := table.Table{Columns: table.Columns("token")}
	for _, i := range order {
		t.Columns = append(t.Columns, table.Column{Heading: name(i).String(), Name: fmt.Sprintf("token_%d", i)})
		row := table.Row{name(i)}
		for _, j := range order {
			row = append(row, table.Number(values[i*len(order)+j]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Learned returns the table that a model learned in the first block that has one, with its probes. The error
// matches fs.ErrNotExist if the run kept no probes, and cohort.ErrNoTable if the model has no table.
func Learned(m cohort.Model) (p *cohort.Probes, x metrics.Table, err error) {
	if p, err = m.Run.Probes(); err == nil {
		x, err = p.FirstTable(m.Index)
	}
	return p, x, err
}

// Plane returns a map of a model's tokens along the first two principal axes of its table. It returns an error
// if all tokens lie at one point.
func Plane(title string, x metrics.Table, axis string) (figure.Map, error) {
	m := figure.Map{Title: title, Note: "n = 1 model"}
	at, explained, err := x.PCA(2)
	if err != nil {
		return m, err
	}
	m.XLabel, m.YLabel = Axis(axis, 0, explained[0]), Axis(axis, 1, explained[1])
	for i := range x.Tokens {
		m.XY = append(m.XY, [2]float64(at.Row(i)))
	}
	return m, nil
}

// Axis names principal axis k, from 0, with the share of variance that it explains: "PC 1 (12 %)".
func Axis(name string, k int, share float64) string {
	return fmt.Sprintf("%s %d (%.0f %%)", name, k+1, 100*share)
}

// ClusterOrder returns an order of n tokens in which similar ones are neighbours: that of the leaves of
// average-linkage clustering by the similarity alike [n,n], computed by nearest-neighbour chains.
func ClusterOrder(alike []float64, n int) []int {
	apart, leaves := make([]float64, n*n), make([][]int, n)
	for i := range apart {
		if v := alike[i]; !math.IsNaN(v) {
			apart[i] = -v
		}
	}
	for i := range leaves {
		leaves[i] = []int{i}
	}
	var chain []int
	for range n - 1 {
		for {
			if len(chain) == 0 {
				chain = []int{slices.IndexFunc(leaves, func(l []int) bool { return l != nil })}
			}
			end, before := chain[len(chain)-1], -1
			if len(chain) > 1 {
				before = chain[len(chain)-2]
			}
			nearest := before
			for j, l := range leaves {
				if l != nil && j != end && (nearest < 0 || apart[end*n+j] < apart[end*n+nearest]) {
					nearest = j
				}
			}
			if nearest == before {
				break
			}
			chain = append(chain, nearest)
		}
		a, b := chain[len(chain)-1], chain[len(chain)-2]
		chain = chain[:len(chain)-2]
		if slices.Min(leaves[b]) < slices.Min(leaves[a]) {
			a, b = b, a
		}
		na, nb := float64(len(leaves[a])), float64(len(leaves[b]))
		for k := range n {
			mean := (na*apart[a*n+k] + nb*apart[b*n+k]) / (na + nb)
			apart[a*n+k], apart[k*n+a] = mean, mean
		}
		leaves[a], leaves[b] = append(leaves[a], leaves[b]...), nil
	}
	return slices.Concat(leaves...)
}

// MeanMap returns the mean [n,n] of attention maps, which lie in parts [...,n,n].
func MeanMap(n int, parts ...[]float64) []float64 {
	maps := 0
	for _, part := range parts {
		maps += len(part) / (n * n)
	}
	mean := make([]float64, n*n)
	for _, part := range parts {
		for i, v := range part {
			mean[i%(n*n)] += v / float64(maps)
		}
	}
	return mean
}
