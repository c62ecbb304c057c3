package nmar

import (
	"bytes"
	"fmt"
	"strconv"
)

// CSV returns two CSV files: the series, with a row per time point and a named column per node, and the
// module of each node.
func (s *Simulation) CSV() (series, modules []byte) {
	var x, m bytes.Buffer
	for i, name := range s.Names {
		if i > 0 {
			x.WriteByte(',')
		}
		x.WriteString(name)
	}
	for i, v := range s.X {
		separator := byte(',')
		if i%s.Options.Nodes == 0 {
			separator = '\n'
		}
		x.WriteByte(separator)
		x.Write(strconv.AppendFloat(x.AvailableBuffer(), float64(v), 'g', -1, 32))
	}
	x.WriteByte('\n')
	m.WriteString("node,module\n")
	for i, name := range s.Names {
		fmt.Fprintf(&m, "%s,%d\n", name, s.Labels[i])
	}
	return x.Bytes(), m.Bytes()
}
