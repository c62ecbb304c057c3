package masked

// Table is a table of samples and tokens with their labels. Only Frames, Tokens and X are required.
// Its readers and simulations have checked it: values are finite, and names differ.
type Table struct {
	Frames, Tokens int
	X              []float32 // [Frames, Tokens], row-major: one sample per row

	Names       []string // of the tokens, or nil
	Modules     []int    // label of each token, or nil
	ModuleNames []string // name of a label: ModuleNames[Modules[token]], or nil
	Groups      []int    // group of each frame, such as its subject, or nil
}

// Row returns the sample of a frame, [Tokens]. It shares the table's memory.
func (t Table) Row(frame int) []float32 { return t.X[frame*t.Tokens : (frame+1)*t.Tokens] }
