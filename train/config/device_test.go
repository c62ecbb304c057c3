package config

import (
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// A form of attention that a configuration cannot have is an error, and one without effect is said.
func TestAttentionSetting(t *testing.T) {
	s, _ := ByFlag("attention")
	for _, c := range []struct {
		preset string
		change func(c *Config)
		note   string // "" = none
		wrong  string
	}{
		{preset: "fmri", change: func(c *Config) { c.Attention = "products" },
			wrong: "\"products\" is not one of auto, efficient, flash; earlier versions had it"},
		{preset: "fmri", change: func(c *Config) { c.Attention = "flash" }},
		{preset: "fmri", change: func(c *Config) { c.Attention, c.Heads = "flash", 16 }, wrong: "heads are 4 wide"},
		{preset: "fmri", change: func(c *Config) { c.Attention, c.DModel = "flash", 264 }, wrong: "heads are 264 wide"},
		{preset: "fmri", change: func(c *Config) { c.Attention, c.Heads = "efficient", 16 }},
		{preset: "fmri", change: func(c *Config) { c.Attention = "fast" }, wrong: "--attention"},
		{preset: "fmri", change: func(c *Config) { c.Device = "cpu" }, note: "on a CPU"},
		{preset: "fmri", change: func(c *Config) { c.Precision = "bf16" }, note: "with --precision bf16"},
		{preset: "lst", change: func(*Config) {}, note: "on 16 tokens"},
		{preset: "lst", change: func(c *Config) { c.LSTSide = 6 }},
		{preset: "nmar", change: func(*Config) {}, note: "on 15 tokens"},
		{preset: "nmar", change: func(c *Config) { c.Masked.NMAR.Nodes = 33 }},
	} {
		config := expect.Must(Preset(c.preset, "code"))
		c.change(&config)
		if note := s.Ignored(&config); !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s, %s: note %q, want %q", c.preset, config.Attention, note, c.note)
		}
		err := problemsOf(config).Err()
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s, %s: error %v, want %q", c.preset, config.Attention, err, c.wrong)
		}
	}
}
