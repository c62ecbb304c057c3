package config

import (
	"errors"
	"strings"

	"torchpe/data/array"
	"torchpe/data/array/arrayfile"
	"torchpe/data/array/text"
	"torchpe/data/positions"
)

// PositionsConfig names the file that says where tokens lie. Without one the task says it: Latin
// squares lie on their grid, all else on a line.
type PositionsConfig struct {
	File   string `json:"file"`         // FILE, or FILE:NAME of one that holds several arrays
	As     string `json:"as,omitempty"` // one of positions.Forms; "" for what the shape says
	SHA256 string `json:"sha256"`       // of the file; a run stays with what it was planned for
}

// PositionsAsHelp is the help of --positions-as.
var PositionsAsHelp = "what the file of --positions holds: auto (what its shape says), " +
	strings.Join(positions.Forms(), ", ")

var positionsSettings = []Setting{
	{
		Key: "positions.file", Flag: "positions", Path: true,
		Help: "file that says where tokens lie, FILE or FILE:NAME: a number (order), row and column " +
			"(grid), coordinates, an adjacency matrix or a list of edges (graph) (default: the task's own)",
		Place: func(c *Config, given any) error { // read anew, whatever it held
			if c.Positions = nil; given != "" {
				c.Positions = &PositionsConfig{}
			}
			return nil
		},
		Complete: func(c *Config) (err error) {
			if c.Positions != nil && c.Positions.SHA256 == "" {
				with := *c.Positions
				with.SHA256, err = SumOf(with.File)
				c.Positions = &with
			}
			return err
		},
		Check: func(c *Config) error {
			if c.Facts().IsLine && c.Positions != nil {
				return errors.New("sequences lie on a line; leave it out")
			}
			return nil
		},
	},
	{
		Key: "positions.as", Flag: "positions-as", Help: PositionsAsHelp, With: "positions",
		Zero: "auto", OneOf: append([]string{"auto"}, positions.Forms()...),
	},
	{Key: "positions.sha256", Help: "SHA-256 of that file"},
	{
		Key: "header", Flag: "header", Sweep: Whole, Help: HeaderHelp,
		Zero: "auto", OneOf: []string{"auto", "yes", "no"},
		Unused: func(c *Config) string {
			if c.Positions == nil && !FromSeries.has(c) {
				return "without --positions or --data with series"
			}
			return ""
		},
	},
}

// HeaderHelp is the help of --header.
const HeaderHelp = "first line of text tables and lists (series, positions, modules, names): yes (names of " +
	"columns), no or auto (as they show; numbers that may be either are refused)"

// FirstLine returns what the configuration says about the first line of texts. An unknown word,
// which Validate reports, is Auto.
func (c Config) FirstLine() text.Choice {
	choice, _ := text.ParseChoice(c.Header)
	return choice
}

// SumOf returns the SHA-256 of the file that a reference names.
func SumOf(reference string) (string, error) {
	file, _, err := arrayfile.Split(reference)
	if err != nil {
		return "", err
	}
	return array.SHA256(file)
}
