package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"torchpe/models/export"
	"torchpe/train"
)

// exportFlags holds the flags of "torchpe export".
type exportFlags struct {
	out    string
	member int
	force  bool
}

func newExportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN --out DIR",
		Short: "Write a model of a run for PyTorch",
		Long: `Write one member of a run, finished or not, to a folder for PyTorch:

  model.safetensors  its state dict, without the optimizer's state
  config.json        what model.py needs, and what the run was
  model.py           the model with its positional encoding, in one file that needs PyTorch 1.13
                     or later and nothing else; its head says shapes, tokens and answers

"python3 DIR/model.py" compares its output with the one that it has here. "torchpe import" makes a
run of the folder again, also after its weights were trained further. All encodings can be exported,
and stacks of them. A run of masked prediction or of a text needs its data; models of sequences take
inputs of the longest length of training.`,
		Example: `  torchpe export runs/first --out twin
  torchpe export runs/first --member 2 --out twin2`,
		Args: oneRun,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.out, "out", "", "folder to write to")
	fl.IntVar(&f.member, "member", 0, "member of the ensemble, from 0")
	fl.BoolVar(&f.force, "force", false, "replace an export in the folder")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return runExport(cmd, args[0], f, *asJSON)
	}
	return cmd
}

func runExport(cmd *cobra.Command, run string, f exportFlags, asJSON bool) error {
	if f.out == "" {
		return usagef("--out: name the folder to write to, such as --out twin")
	}
	for _, name := range []string{export.WeightsFile, export.ConfigFile, export.SourceFile} {
		if _, err := os.Lstat(filepath.Join(f.out, name)); err == nil && !f.force {
			return usagef("--out: %s holds a %s; --force replaces it", f.out, name)
		}
	}
	x, err := train.Export(run, f.member, f.out)
	if err != nil {
		return fileErrorAsUsage(configErrorAsUsage(err))
	}
	if x.Warning != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "torchpe: "+x.Warning)
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, x)
	}
	if x.DivergedAtStep > 0 {
		fmt.Fprintf(out, "member %d diverged at step %d; these are the weights of its last checkpoint\n", f.member,
			x.DivergedAtStep)
	}
	fmt.Fprintf(out, "%s: member %d of %s after %d steps, %s with %d trained parameters\ntry: python3 %s\n",
		f.out, f.member, run, x.Step, x.PE, x.Parameters, filepath.Join(f.out, export.SourceFile))
	return nil
}

func newImportCommand() *cobra.Command {
	var out string
	var force bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "import DIR --out RUN",
		Short: "Make a run of a model that was exported, and perhaps trained further in PyTorch",
		Long: `Make a finished run of a folder that "torchpe export" has written, with the weights that its
model.safetensors has now: the same configuration and data, measured as at the end of training, with
tables and attention for "torchpe analyze" and "torchpe report". Of training in PyTorch nothing is
known: the run says as many steps as at its export, and its environment.json where the weights are
from; training loss and accuracy of puzzles are those over all training puzzles, without dropout.
Tensors that are missing, unexpected, of another shape, not of floating-point numbers, or with a
number whose square is not finite in the run's precision are named, and nothing is written. So are
weights with which the output for a sample is not finite, and a member that diverged. The directory
is a run once all is written: what is killed before is done again by the same command.`,
		Example: `  torchpe import twin --out runs/tuned
  torchpe analyze map runs/tuned`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: name one folder that torchpe export has written; %d were given",
					cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return usagef("--out: name the run directory to write, such as --out runs/tuned")
			}
			result, err := train.Import(args[0], out, train.Options{Force: force, Command: os.Args})
			if err != nil {
				return fileErrorAsUsage(configErrorAsUsage(err))
			}
			if *asJSON {
				return printJSON(cmd.OutOrStdout(), result)
			}
			m := result.Members[0]
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%s: %s with the weights of %s", out, m.PE, args[0])
			if m.MaskedMeasures == nil {
				fmt.Fprintf(w, ", validation accuracy %s", share(m.ValidationAccuracy))
			}
			fmt.Fprintln(w)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&out, "out", "", "run directory to write")
	fl.BoolVar(&force, "force", false, "replace the run in the directory")
	asJSON = jsonFlag(cmd)
	return cmd
}

// configErrorAsUsage marks an error of a configuration as one of usage.
func configErrorAsUsage(err error) error {
	var config *train.ConfigError
	if errors.As(err, &config) {
		return usageError{err}
	}
	return err
}
