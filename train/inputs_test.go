package train

import "testing"

// What the host computes for a step while a GPU works on the one before: it must take less than
// that one, by arithmetic some 1.5 ms for the first two and 8 ms for fMRI.
func BenchmarkInputs(b *testing.B) {
	for _, bench := range []struct {
		preset         string
		members, batch int
	}{{"lst", 15, 128}, {"nmar", 32, 128}, {"fmri", 8, 128}} {
		b.Run(bench.preset, func(b *testing.B) {
			c, err := Preset(bench.preset, "code")
			if err != nil {
				b.Fatal(err)
			}
			c.Device, c.Threads, c.Batch, c.Layers = "cpu", 1, bench.batch, 1
			if bench.preset == "fmri" {
				c.Masked.Surrogate.Subjects, c.Masked.Surrogate.Frames = 2, 400
			}
			first := c.Members[0]
			c.Members = nil
			for seed := range bench.members {
				first.Seed = uint64(seed)
				c.Members = append(c.Members, first)
			}
			e, end := build(b, c)
			defer end()
			for step := 0; b.Loop(); step++ {
				e.task.inputs(e, step)
			}
		})
	}
}
