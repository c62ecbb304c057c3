package config

import (
	"fmt"
	"strconv"
)

// DeviceConfig says where, and with which arithmetic, a run computes.
type DeviceConfig struct {
	DType         string `json:"dtype"`
	Device        string `json:"device"`
	Threads       int    `json:"threads"`                 // 0 = found by a short calibration
	Precision     string `json:"precision,omitempty"`     // of products; "" is auto: tf32 on a GPU, fp32 on a CPU
	Attention     string `json:"attention,omitempty"`     // over many tokens on a GPU; "" is auto: measured
	NoGraph       bool   `json:"no_graph,omitempty"`      // launch each kernel by itself
	Deterministic bool   `json:"deterministic,omitempty"` // the same bits each time, where libtorch can
}

var deviceSettings = []Setting{
	{
		Key: "dtype", Flag: "dtype", Help: "precision: float32 or float64",
		Value: Field[string]{Default: "float32", OneOf: []string{"float32", "float64"}},
	},
	{
		Key: "device", Flag: "device", Common: true, Effect: Nothing, Help: "device: auto, cpu, cuda or cuda:i",
		Value: Field[string]{Default: "auto"},
	},
	{
		Key: "precision", Flag: "precision",
		Help:     "operands of products: fp32, tf32, bf16; auto is tf32 on a GPU and fp32 on a CPU",
		Value:    Field[string]{Shown: "auto", OneOf: []string{"auto", "fp32", "tf32", "bf16"}},
		Complete: leavesOutAuto(func(c *Config) *string { return &c.Precision }),
	},
	{
		Key: "attention", Flag: "attention",
		Help: "attention over more than 32 tokens: efficient (libtorch's kernel), products (of --precision, with a " +
			"softmax between), flash (bf16, between products of --precision); auto is efficient, and flash with " +
			"--precision bf16 [GPU]",
		Value:    Field[string]{Shown: "auto", OneOf: []string{"auto", "efficient", "products", "flash"}},
		Complete: leavesOutAuto(func(c *Config) *string { return &c.Attention }),
		Check: func(c *Config, bad *Problems) {
			if c.Heads >= 1 && c.Attention == "flash" && !c.takesFlash() {
				bad.Add("--attention flash: heads are %d wide, and its kernel takes multiples of 8 up to 256; "+
					"efficient and products take any", c.DModel/c.Heads)
			}
		},
		Unused: func(c *Config) string {
			switch {
			case c.Device == "cpu":
				return "on a CPU"
			case c.Precision == "bf16":
				return "with --precision bf16, whose attention is flash"
			case c.HasPuzzles() && c.Side()*c.Side() <= fewTokens:
				return fmt.Sprintf("on %d tokens, whose attention is one kernel", c.Side()*c.Side())
			case c.Masked != nil && c.Masked.NMAR != nil && c.Masked.NMAR.Nodes <= fewTokens:
				return fmt.Sprintf("on %d tokens, whose attention is one kernel", c.Masked.NMAR.Nodes)
			}
			return ""
		},
	},
	{
		Key: "no_graph", Flag: "no-graph",
		Help:  "launch each kernel by itself instead of replaying recorded steps [GPU]",
		Value: Field[bool]{},
	},
	{
		Key: "deterministic", Flag: "deterministic",
		Help:  "the same bits each time, at some cost in speed [GPU; a CPU always gives them]",
		Value: Field[bool]{},
	},
	{
		Key: "threads", Flag: "threads", Effect: Nothing, SameStepTime: true,
		Help: "CPU threads of one step; auto measures",
		Value: Field[int]{
			Check: in[int](0, 4096),
			Words: &words[int]{kind: "string", parse: parseThreads, text: func(int) string { return "auto" }},
		},
	},
}

// takesFlash says whether libtorch's flash kernel takes heads of this width.
func (c Config) takesFlash() bool { return c.DModel/c.Heads%8 == 0 && c.DModel/c.Heads <= 256 }

// fewTokens is GPU_FEW_TOKENS of the shim: attention over as many tokens is one kernel on a GPU.
const fewTokens = 32

// leavesOutAuto leaves out a text that says auto.
func leavesOutAuto(at func(*Config) *string) func(*Config, *Problems) {
	return func(c *Config, _ *Problems) {
		if *at(c) == "auto" {
			*at(c) = ""
		}
	}
}

func parseThreads(texts []string) (int, error) {
	text := texts[0]
	if text == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is neither auto nor a number of at least 1", text)
	}
	return n, nil
}
