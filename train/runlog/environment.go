package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"torchpe/internal/machine"
)

// Version is the version of this program, the newest in CHANGELOG.md.
const Version = "0.1.0"

// Environment describes the program and the machine that computed a run.
type Environment struct {
	Torchpe         string    `json:"torchpe"`             // version of this program
	Go              string    `json:"go"`                  // version of Go
	LibtorchBuilt   string    `json:"libtorch_built"`      // compiled against
	LibtorchRunning string    `json:"libtorch_running"`    // loaded
	Device          string    `json:"device"`              // as in --device, resolved: cpu, cuda:0
	GPU             string    `json:"gpu"`                 // name of the GPU; empty on a CPU
	Precision       string    `json:"precision,omitempty"` // operands of products: fp32, tf32, bf16
	BLAS            string    `json:"blas"`                // library
	BLASKernel      string    `json:"blas_kernel"`         // its CPU kernel
	Threads         int       `json:"threads"`
	OS              string    `json:"os"`
	Arch            string    `json:"arch"`
	CPU             string    `json:"cpu"` // model name
	Host            string    `json:"host"`
	GitCommit       string    `json:"git_commit"`   // of this program; empty outside a checkout
	GitModified     bool      `json:"git_modified"` // the checkout had uncommitted changes
	CommandLine     []string  `json:"command_line"`
	StartTime       time.Time `json:"start_time"` // UTC, only informative

	// Changed lists the differences from the checkpoint that a resumption continues: another
	// library, device or number of threads, and settings that were allowed to change.
	Changed []string `json:"changed,omitempty"`
}

// ImportedFrom is the prefix of the entry in Environment.Changed of an imported run.
const ImportedFrom = "weights imported from "

// Build describes the program in one line: its version, its commit if the build recorded one, and
// Go's version.
func (e Environment) Build() string {
	commit := ""
	if e.GitCommit != "" {
		commit = ", commit " + e.GitCommit[:min(12, len(e.GitCommit))]
		if e.GitModified {
			commit += " with changes"
		}
	}
	return fmt.Sprintf("torchpe %s%s, %s %s/%s", e.Torchpe, commit, e.Go, e.OS, e.Arch)
}

// HostEnvironment returns the part of an Environment that needs no libtorch: versions, commit,
// system, CPU, command line and the time. The caller fills in libtorch, device, BLAS and threads.
func HostEnvironment(commandLine []string) Environment {
	env := Environment{
		Torchpe:     Version,
		Go:          runtime.Version(),
		OS:          runtime.GOOS,
		Arch:        runtime.GOARCH,
		CPU:         machine.CPU(),
		CommandLine: commandLine,
		StartTime:   time.Now().UTC().Truncate(time.Second),
	}
	env.Host, _ = os.Hostname() // only informative
	if info, ok := debug.ReadBuildInfo(); ok {
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

// environments is the content of environment.json.
type environments struct {
	Environment
	Resumed []Environment `json:"resumed,omitempty"`
}

// Environments returns the environments of the run: at its start, and then after each Resume.
func (r *Reader) Environments() ([]Environment, error) {
	var e environments
	if err := r.readJSON(environmentFile, &e); err != nil {
		return nil, err
	}
	return append([]Environment{e.Environment}, e.Resumed...), nil
}

// AddEnvironment adds the environment in which a resumed run continues.
func (r *Run) AddEnvironment(env Environment) error {
	envs, err := r.Environments()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.writeEnvironments(append(envs, env))
}

// writeEnvironments writes environment.json; envs is not empty.
func (r *Run) writeEnvironments(envs []Environment) error {
	return r.writeJSON(environmentFile, environments{Environment: envs[0], Resumed: envs[1:]})
}
