package runlog

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Environment says where and by what a run was computed.
type Environment struct {
	Torchpe         string    `json:"torchpe"`             // version of this program
	Go              string    `json:"go"`                  // version of Go
	LibtorchBuilt   string    `json:"libtorch_built"`      // libtorch that the shim was compiled against
	LibtorchRunning string    `json:"libtorch_running"`    // libtorch that was loaded
	Device          string    `json:"device"`              // as in --device, resolved: cpu, cuda:0
	GPU             string    `json:"gpu"`                 // name of the GPU; empty on a CPU
	Precision       string    `json:"precision,omitempty"` // operands of products: fp32, tf32, bf16
	BLAS            string    `json:"blas"`                // library
	BLASKernel      string    `json:"blas_kernel"`         // CPU kernel that it chose
	Threads         int       `json:"threads"`
	OS              string    `json:"os"`
	Arch            string    `json:"arch"`
	CPU             string    `json:"cpu"` // model name
	Host            string    `json:"host"`
	GitCommit       string    `json:"git_commit"`   // of this program; empty when it was built outside a checkout
	GitModified     bool      `json:"git_modified"` // the checkout had uncommitted changes
	CommandLine     []string  `json:"command_line"`
	StartTime       time.Time `json:"start_time"` // UTC, for people; nothing is decided by it
}

// HostEnvironment returns the part of an Environment that needs no libtorch: versions, commit, system, CPU, command line
// and the time. The caller fills in libtorch, device, BLAS and threads.
func HostEnvironment(commandLine []string) Environment {
	env := Environment{
		Go:          runtime.Version(),
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		CPU:         cpuModel(),
		CommandLine: commandLine,
		StartTime:   time.Now().UTC().Truncate(time.Second),
	}
	env.Host, _ = os.Hostname() // for people; empty is fine
	if info, ok := debug.ReadBuildInfo(); ok {
		env.Torchpe = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				env.GitCommit = s.Value
			case "vcs.modified":
				env.GitModified = s.Value == "true"
			}
		}
	}
	return env
}

// cpuModel returns the CPU's model name where Linux tells it, or nothing.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// environments is the content of environment.json: the environment of the start, and those of each resumption.
type environments struct {
	Environment
	Resumed []Environment `json:"resumed,omitempty"`
}

// Environments returns where the run was computed: at its start, and then after each Resume.
func (r *Reader) Environments() ([]Environment, error) {
	var e environments
	if err := r.readJSON(environmentFile, &e); err != nil {
		return nil, err
	}
	return append([]Environment{e.Environment}, e.Resumed...), nil
}

// writeEnvironments writes environment.json; envs has at least one element.
func (r *Run) writeEnvironments(envs []Environment) error {
	return r.writeJSON(environmentFile, environments{Environment: envs[0], Resumed: envs[1:]})
}
