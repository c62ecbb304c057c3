package config

import (
	"fmt"
	"regexp"
)

// DeviceConfig says on which device and in which precision a run computes.
type DeviceConfig struct {
	DType         string `json:"dtype"`
	Device        string `json:"device"`
	Threads       int    `json:"threads"`                 // 0 = found by a short calibration
	Precision     string `json:"precision,omitempty"`     // of products; "" is auto: tf32 on a GPU, fp32 on a CPU
	Attention     string `json:"attention,omitempty"`     // over more than 32 tokens on a GPU; "" is auto
	NoGraph       bool   `json:"no_graph,omitempty"`      // launch each kernel by itself
	Deterministic bool   `json:"deterministic,omitempty"` // the same bits each time, where libtorch can
}

var deviceSettings = []Setting{
	{
		Key: "dtype", Flag: "dtype", Help: "precision: float32 or float64",
		Default: "float32", OneOf: []string{"float32", "float64"},
	},
	{
		Key: "device", Flag: "device", Common: true, Effect: Nothing,
		Help: "device: auto, cpu, cuda or cuda:i", Default: "auto",
		Check: func(c *Config) error {
			if !deviceName.MatchString(c.Device) {
				return fmt.Errorf("%q is not one of auto, cpu, cuda or cuda:0, cuda:1 and so on", c.Device)
			}
			return nil
		},
	},
	{
		Key: "precision", Flag: "precision", Zero: "auto", OneOf: []string{"auto", "fp32", "tf32", "bf16"},
		Help: "operands of products: fp32, tf32, bf16; auto is tf32 on a GPU and fp32 on a CPU",
	},
	{
		Key: "attention", Flag: "attention", Zero: "auto",
		OneOf: []string{"auto", "efficient", "flash"},
		Gone: map[string]string{AttentionProducts: "earlier versions had it; continue such a run with " +
			"--attention efficient or flash and --allow-changed attention"},
		Help: "attention over more than 32 tokens: efficient (libtorch's kernel), flash (bf16, between products of " +
			"--precision); auto is efficient, and flash with --precision bf16 [GPU]",
		Check: func(c *Config) error {
			if c.Heads >= 1 && c.Attention == "flash" && !c.takesFlash() {
				return fmt.Errorf("heads are %d wide, and the kernel of flash takes multiples of 8 up to 256; "+
					"efficient takes any", c.DModel/c.Heads)
			}
			return nil
		},
		Unused: func(c *Config) string {
			tokens, fixed := c.Tokens()
			switch {
			case c.Device == "cpu":
				return "on a CPU"
			case c.Precision == "bf16":
				return "with --precision bf16, whose attention is flash"
			case fixed && tokens <= fewTokens:
				return fmt.Sprintf("on %d tokens, whose attention is one kernel", tokens)
			}
			return ""
		},
	},
	{
		Key: "no_graph", Flag: "no-graph",
		Help: "launch each kernel by itself instead of replaying recorded steps [GPU]",
	},
	{
		Key: "deterministic", Flag: "deterministic",
		Help: "the same bits each time, at some cost in speed [GPU; a CPU always gives them]",
	},
	{
		Key: "threads", Flag: "threads", Effect: Nothing, SameStepTime: true, Zero: "auto",
		Help: "CPU threads of one step; auto measures", Range: "[1, 4096]",
	},
}

// AttentionProducts is a form of attention of earlier versions. It is read but not computed.
const AttentionProducts = "products"

// takesFlash reports whether libtorch's flash kernel takes heads of this width.
func (c Config) takesFlash() bool { return c.DModel/c.Heads%8 == 0 && c.DModel/c.Heads <= 256 }

// fewTokens is GPU_FEW_TOKENS of the shim: on a GPU, attention over up to so many tokens is one
// kernel.
const fewTokens = 32

// deviceName matches the values of --device.
var deviceName = regexp.MustCompile(`^(auto|cpu|cuda(:[0-9]+)?)$`)
