package analysis

import (
	"testing"

	"torchpe/internal/expect"
)

// A part of the tokens has the modules and the places that files give them by name, not those of the files' first
// rows.
func TestNamesOfAPart(t *testing.T) {
	at := files(t, map[string]string{
		"table.csv":   "name,d1,d2\na,0,0\nb,0.1,0\nc,0,0.2\nd,3,3\ne,3.1,3\nf,3,3.3\ng,9,9\nh,9,8\n",
		"part.csv":    "name,d1,d2\na,0,0\nb,0.1,0\nc,0,0.2\nd,3,3\ne,3.1,3\nf,3,3.3\n",
		"modules.csv": "name,module\nh,3\ng,3\nf,2\ne,2\nd,2\nc,1\nb,1\na,1\n",
		"six.csv":     "name,module\nf,2\ne,2\nd,2\nc,1\nb,1\na,1\n",
		"places.csv":  "name,x,y\nh,0,1.5\ng,5,2\nf,1,7\ne,4,4\nd,6,1\nc,2,2\nb,8,3\na,3,9.5\n",
		"near.csv":    "name,x,y\nf,1,7\ne,4,4\nd,6,1\nc,2,2\nb,8,3\na,3,9.5\n",
	})
	part := " --table " + at("table.csv") + " --modules " + at("modules.csv") + " --positions 0:6"
	got, _ := result(t, "map --dims 1"+part)
	near(t, "modules of a part", value(got, "models/0/modules"), []any{"1", "1", "1", "2", "2", "2"})
	const smooth = "network --permutations 99 --coordinates "
	got, _ = result(t, smooth+at("places.csv")+part)
	// Q by numpy: w = 1 - D / D.max() without its diagonal, k = w.sum(0), l = k.sum(), and
	// ((w - outer(k, k) / l) * (m[:, None] == m)).sum() / l.
	near(t, "Q", value(got, "models/0/modularity"), 0.4368738039334793)
	whole, _ := result(t, smooth+at("near.csv")+" --table "+at("part.csv")+" --modules "+at("six.csv"))
	near(t, "the six tokens alone", value(got, "models/0/blocks/0"), value(whole, "models/0/blocks/0"))
}

// A map is equal to itself with its tokens in another order.
func TestAttentionPairsTokens(t *testing.T) {
	at := files(t, map[string]string{
		"map.csv":     "id,a,b,c\na,.5,.25,.25\nb,0,.5,.5\nc,1,0,0\n",
		"columns.csv": "c,a,b\n0,1,0\n.25,.5,.25\n.5,0,.5\n",
		"turned.csv":  "id,b,a,c\nb,.5,0,.5\na,.25,.5,.25\nc,0,1,0\n", "plain.csv": ".5,.25,.25\n0,.5,.5\n1,0,0\n",
		"other.csv": "id,a,b,q\na,.5,.25,.25\nb,0,.5,.5\nq,1,0,0\n",
	})
	line := "attention " + at("map.csv") + " --reference "
	for reference, notes := range map[string][]string{"turned.csv": nil, "columns.csv": nil,
		"plain.csv": {"map.csv has names of tokens and "}} {
		got, said := result(t, line+at(reference))
		near(t, reference, value(got, "models/0"), map[string]any{"cosine": 1.0, "jsd": 0.0})
		checkNotes(t, reference, said, notes)
	}
	_, _, err := run(line + at("other.csv"))
	expect.Error(t, err, "map.csv against reference ", `token "c" is not among the 3 of `,
		"which must have the same names")
}
