package config

import (
	"torchpe/train/runlog"
)

// FromConfig names the run whose weights a model starts from. A member starts from the member of its
// number, or from the only one.
type FromConfig struct {
	Run    string `json:"run"`
	KeepPE bool   `json:"keep_pe,omitempty"` // the encoding's trained parameters, too
	SHA256 string `json:"sha256"`            // of the run's checkpoint
}

var fromSettings = []Setting{
	{
		Key: "from.run", Flag: "from", Path: true,
		Help: "finished run whose weights the model starts from, all but the encoding's (default: they are drawn)",
		Place: func(c *Config, given any) error {
			if c.From = nil; given != "" {
				c.From = &FromConfig{}
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
		Key: "from.keep_pe", Flag: "keep-pe", With: "from",
		Help: "start from the encoding's trained parameters of --from, too",
	},
	{Key: "from.sha256", Help: "SHA-256 of that run's checkpoint"},
}
