package main

import (
	"fmt"
	"math"
	"os"

	"github.com/spf13/cobra"

	"torchpe/models/export"
	"torchpe/train"
	"torchpe/train/runlog"
)

func newExportCommand() *cobra.Command {
	to := destination{files: []string{export.WeightsFile, export.ConfigFile, export.SourceFile}}
	cmd := &cobra.Command{
		Use:   "export RUN --out DIR",
		Short: "Export a model of a run to PyTorch",
		Long: `Write one member of a run, finished or not, to a folder for PyTorch:

  model.safetensors  its state dict, without the optimizer's state
  config.json        the settings of model.py and of the run
  model.py           the model with its positional encoding, in one file that needs PyTorch 1.13
                     or later and nothing else; its docstring explains shapes, tokens and answers

"python3 DIR/model.py" compares its output with that of torchpe. "torchpe import" turns the folder back
into a run, also after further training of its weights. All encodings can be exported, and stacks of
them. Export of masked prediction or of a text needs the run's data; models of sequences take inputs of
the longest training length.`,
		Example: `  torchpe export runs/first --out twin
  torchpe export runs/first --member 2 --out twin2`,
	}
	to.add(cmd, "folder to write to")
	member := cmd.Flags().Int("member", 0, "member of the ensemble, from 0")
	require(cmd, "out")
	return leaf(cmd, func(c *call) (r result, err error) {
		x, err := train.Export(c.args[0], *member, to.path)
		if err != nil {
			return r, err
		}
		r.value = x
		if x.Warning != "" {
			r.notes = append(r.notes, x.Warning)
		}
		if x.DivergedAtStep > 0 {
			r.notes = append(r.notes, fmt.Sprintf("member %d diverged at step %d; these are the weights of its last "+
				"checkpoint", *member, x.DivergedAtStep))
		}
		r.print = printf("%s: member %d of %s after %d steps, %s with %d trained parameters\ntry: python3 %s\n",
			to.path, *member, c.args[0], x.Step, x.PE, x.Parameters, to.file(export.SourceFile))
		return r, nil
	}, &to)
}

func newImportCommand() *cobra.Command {
	to := destination{files: []string{}} // the run directory has its own check
	cmd := &cobra.Command{
		Use:   "import DIR --out RUN",
		Short: "Turn an exported model into a run, also after more training in PyTorch",
		Long: `Turn a folder that "torchpe export" has written into a finished run, with the weights that its
model.safetensors has now: the same configuration and data, measured as at the end of training, with
tables and attention for "torchpe analyze" and "torchpe report". How the model was trained in PyTorch
is not known: the run has as many steps as at its export, and its environment.json names the source
of the weights; training loss and accuracy on puzzles are over all training puzzles, without dropout.

The command writes nothing and names the tensors if any are missing, unexpected, of another shape, not
of floating-point numbers, or have a number whose square is not finite in the run's precision. It also
refuses weights that give a sample an output that is not finite, and a member that diverged. The
directory becomes a run only when all is written; after a kill, repeat the command.`,
		Example: `  torchpe import twin --out runs/tuned
  torchpe analyze map runs/tuned`,
	}
	to.add(cmd, "run directory to write")
	require(cmd, "out")
	return leaf(cmd, func(c *call) (r result, err error) {
		imported, err := train.Import(c.args[0], to.path, train.Options{Force: to.force, Command: os.Args})
		if err != nil {
			return r, err
		}
		r.value = imported
		m, accuracy := imported.Members[0], ""
		if v := m.Measures.Get("validation"); !math.IsNaN(v) {
			accuracy = ", validation accuracy " + runlog.FormatMeasure("validation", v)
		}
		r.print = printf("%s: %s with the weights of %s%s\n", to.path, m.PE, c.args[0], accuracy)
		return r, nil
	})
}
