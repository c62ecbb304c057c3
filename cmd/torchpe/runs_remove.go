package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"torchpe/internal/wording"
	"torchpe/report/listing"
	"torchpe/train/runlog"
)

// removal holds the flags of "torchpe runs rm".
type removal struct {
	where                  []string
	dryRun, yes, breakLock bool
	json                   bool
	in                     io.Reader
	terminal               bool // whether in is one
	out, notes             io.Writer
}

func newRunsRemoveCommand() *cobra.Command {
	var r removal
	cmd := &cobra.Command{
		Use:   "rm DIR...",
		Short: "Remove runs, with their directories",
		Long: `Remove the runs in directories and the folders below them, finished or not, each with its
directory. On a terminal the command asks before; elsewhere it needs --yes. Never removed are a run
that a process writes to, a run of which --where chooses some models only, what is no run, a
directory with folders that are not of a run, and what a symbolic link leads to.

` + whereHelp,
		Example: `  torchpe runs rm runs/first
  torchpe runs rm runs --where status=diverged --dry-run
  torchpe runs rm runs --where 'status=stopped,steps<100' --yes`,
		Args: atLeastOne("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.in, r.out, r.notes = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			r.terminal = isTerminal(r.in)
			return r.run(args)
		},
	}
	addWhere(cmd, &r.where)
	cmd.Flags().BoolVarP(&r.dryRun, "dry-run", "n", false, "print what would be removed, and stop")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&r.breakLock, "break-lock", false,
		"also remove runs with the lock of a process on another host, which is dead")
	cmd.Flags().BoolVar(&r.json, "json", false, "print as JSON; needs --yes or --dry-run")
	return cmd
}

// removed says what became of the runs that were chosen.
type removed struct {
	DryRun  bool              `json:"dry_run"`
	Removed []string          `json:"removed"` // or would be
	Kept    map[string]string `json:"kept"`    // and why
}

func (r removal) run(dirs []string) error {
	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return usagef("%s is a symbolic link: give the directory that it leads to", dir)
		}
	}
	all, err := readRuns(r.notes, dirs)
	if err != nil {
		return err
	}
	chosen, err := all.Select(listing.Query{Where: r.where})
	if err != nil {
		return usageError{err}
	}
	whole, part := chosen.Runs(all)
	done := removed{r.dryRun, []string{}, map[string]string{}}
	for _, dir := range part {
		done.Kept[dir] = "--where chooses some of its models only"
		fmt.Fprintf(r.notes, "torchpe: kept: %s: %s\n", dir, done.Kept[dir])
	}
	if len(whole) == 0 && !r.json {
		fmt.Fprintln(r.out, "nothing to remove")
		return nil
	}
	if r.dryRun {
		for _, dir := range whole {
			r.say("would remove " + dir)
		}
		done.Removed = append(done.Removed, whole...)
		return r.end(done)
	}
	if !r.yes && len(whole) > 0 {
		if sure, err := r.ask(whole); err != nil || !sure {
			return err
		}
	}
	return r.remove(whole, done)
}

// say prints a line, and end the whole, as JSON.
func (r removal) say(line string) {
	if !r.json {
		fmt.Fprintln(r.out, line)
	}
}

func (r removal) end(done removed) error {
	if r.json {
		return printJSON(r.out, done)
	}
	return nil
}

// ask asks whether the runs are to be removed.
func (r removal) ask(dirs []string) (bool, error) {
	if !r.terminal || r.json {
		return false, usagef("torchpe runs rm: %s would be removed: give --yes where nobody can "+
			"be asked, or --dry-run to see them", wording.Count(len(dirs), "run"))
	}
	for _, dir := range dirs {
		fmt.Fprintln(r.out, dir)
	}
	fmt.Fprintf(r.out, "Remove %s for good? [y/N] ", wording.Count(len(dirs), "run"))
	answer, err := bufio.NewReader(r.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return true, nil
	}
	fmt.Fprintln(r.out, "nothing was removed")
	return false, nil
}

// remove removes runs and says so; those that cannot be removed do not stop it.
func (r removal) remove(dirs []string, done removed) error {
	kept := 0
	for _, dir := range dirs {
		if err := runlog.Remove(dir, runlog.Options{BreakLock: r.breakLock}); err != nil {
			kept++
			done.Kept[dir] = err.Error()
			fmt.Fprintf(r.notes, "torchpe: kept: %v\n", err)
			continue
		}
		r.say("removed " + dir)
		done.Removed = append(done.Removed, dir)
	}
	if err := r.end(done); err != nil {
		return err
	}
	if kept > 0 {
		return fmt.Errorf("%d of %s could not be removed", kept, wording.Count(len(dirs), "run"))
	}
	return nil
}
