package config

import "time"

// OutputConfig says how often, and how, a run writes.
type OutputConfig struct {
	LogEvery        int      `json:"log_every"`        // epochs, or steps where the task counts those
	CheckpointEvery Duration `json:"checkpoint_every"` // wall time
	TensorBoard     bool     `json:"tensorboard"`      // true where a file does not say
}

// Duration is a time.Duration that JSON holds as text, such as "1m0s".
type Duration time.Duration

// MarshalText writes the duration as time.Duration.String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

var outputSettings = []Setting{
	{
		Key: "log_every", Flag: "log-every", Effect: Measures, SameStepTime: true, Range: "[1, inf)",
		Help: "epochs between records, or steps where the task counts those (default: a twentieth; 1 up to 50 epochs)",
		Complete: func(c *Config) error {
			task, length := c.Facts(), c.Epochs+c.Steps
			switch {
			case c.LogEvery != 0:
			case c.Until != "" && task.SlowRecords:
				c.LogEvery = max(1, length/100)
			case c.Until != "": // only a record can end a run
				c.LogEvery = max(1, length/500)
			case task.InEpochs && c.Epochs <= 50:
				c.LogEvery = 1
			default:
				c.LogEvery = max(1, length/20)
			}
			return nil
		},
	},
	{
		Key: "checkpoint_every", Flag: "checkpoint-every", Effect: Nothing, SameStepTime: true,
		Help: "time between checkpoints", Default: Duration(time.Minute), Range: "[0, inf)",
	},
	{
		Key: "tensorboard", Flag: "tensorboard", Effect: Nothing, SameStepTime: true, Default: true,
		Help: "write event files for TensorBoard into the run directory",
	},
}
