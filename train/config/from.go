package config

import (
	"torchpe/train/runlog"
)

// FromConfig names the run whose weights a model starts from. A member starts from the member of its
// number, or from the only one.
type FromConfig struct {
	Run    string `json:"run"`
	Take   string `json:"take"`   // which of its weights
	SHA256 string `json:"sha256"` // of the run's checkpoint
}

// Values of FromConfig.Take.
const (
	TakeNoPE = "no-pe" // all weights but the encoding's
	TakePE   = "pe"    // the encoding's trained parameters alone
	TakeAll  = "all"
)

// Takes reports whether a parameter starts with the run's values: one of the encoding's, or another.
func (f FromConfig) Takes(ofEncoding bool) bool {
	return f.Take == TakeAll || (f.Take == TakePE) == ofEncoding
}

var fromSettings = []Setting{
	{
		Key: "from.run", Flag: "from", Path: true,
		Help: "finished run whose weights the model starts from (default: they are drawn)",
		Place: func(c *Config, given any) error {
			if c.From = nil; given != "" {
				c.From = &FromConfig{Take: TakeNoPE}
			}
			return nil
		},
		Complete: func(c *Config) (err error) {
			if c.From != nil && c.From.SHA256 == "" {
				with := *c.From
				with.SHA256, err = SumOf(runlog.CheckpointPath(with.Run))
				c.From = &with
			}
			return err
		},
	},
	{
		Key: "from.take", Flag: "take", With: "from", Default: TakeNoPE,
		OneOf: []string{TakeNoPE, TakePE, TakeAll},
		Help:  "weights of --from: no-pe (all but the encoding's), pe (the encoding's alone), all",
	},
	{Key: "from.sha256", Help: "SHA-256 of that run's checkpoint"},
}
