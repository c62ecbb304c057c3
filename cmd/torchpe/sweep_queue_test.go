package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// fakeQueue puts a Slurm on PATH that takes every job and forgets it at once; it returns the file
// with the calls of sbatch.
func fakeQueue(t *testing.T) (calls string) {
	t.Helper()
	bin := t.TempDir()
	calls = filepath.Join(bin, "calls")
	for name, body := range map[string]string{
		"sbatch":   `echo "$*" >>` + calls + `; wc -l <` + calls,
		"squeue":   `exit 0`,
		"scancel":  `exit 0`,
		"scontrol": `printf 'MaxArraySize = 1001\nMaxJobCount = 10000\nRequeueExit = 75\n'`,
	} {
		expect.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o777))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return calls
}

// A task that is lost is submitted again; the flags of the last submission hold until others are given.
func TestSweepSubmitsAgain(t *testing.T) {
	dir := t.TempDir()
	calls := fakeQueue(t)
	submits := func(line string) {
		t.Helper()
		says(t, dir, "sweep "+line+" --launcher slurm", 0, "2>submitted 1 task ")
	}
	submits("--pe nope --out s --partition long --time 4h --sbatch=--mail-type=FAIL" + smallSet(t, dir))
	submits("resume s --time 2h --throttle 3")
	submits("retry s --lost")
	submits("resume s --partition=")
	says(t, dir, "sweep cancel s", 0)
	submits("resume s")
	text := readText(t, calls)
	for i, want := range [][]string{
		{"--array=0-0 ", "--time=240 ", "--partition=long ", "--mail-type=FAIL "},
		{"--array=0-0%3 ", "--time=120 ", "--partition=long ", "--mail-type=FAIL "},
		{"--array=0-0%3 ", "--time=120 ", "--partition=long ", "--mail-type=FAIL "},
		{"--array=0-0%3 ", "--time=120 ", "--mail-type=FAIL "},
		{"--array=0-0%3 ", "--time=120 ", "--mail-type=FAIL "},
	} {
		line := strings.Split(text, "\n")[i]
		expect.Contains(t, line, want...)
		expect.Equal(t, line, strings.Contains(line, "--partition"), i < 3)
	}
}

// Without Slurm nothing is planned.
func TestSweepWithoutSlurm(t *testing.T) {
	dir := t.TempDir()
	line := "sweep --pe nope --launcher slurm --out s" + smallSet(t, dir)
	t.Setenv("PATH", t.TempDir())
	before := filesIn(t, dir)
	says(t, dir, line, exitFailed, "not found in $PATH: is this a machine of the cluster?")
	expect.Equal(t, "files", filesIn(t, dir), before)
}

// What the queue still has of tasks that have ended is not among those that wait.
func TestQueueOfEndedTasks(t *testing.T) {
	dir := t.TempDir()
	fakeQueue(t)
	says(t, dir, "sweep --pe nope,rope --epochs 1 --launcher slurm --pack 1 --out s"+smallSet(t, dir), 0)
	stdout, stderr, code := torchpeIn(t, dir, "sweep run-task --index 0 s")
	expect.Equal(t, stdout+stderr, code, 0)
	squeue := filepath.Join(strings.Split(os.Getenv("PATH"), ":")[0], "squeue")
	body := `for a; do case $a in --name=*) name=${a#--name=};; esac; done
for i in 0 1; do echo "$i|PENDING|$name|launch failed requeued held"; done`
	expect.NoError(t, os.WriteFile(squeue, []byte("#!/bin/sh\n"+body+"\n"), 0o777))
	says(t, dir, "sweep status s", 0, "1 of 2 runs done", "2>in Slurm's queue: 1 launch failed requeued held")
	says(t, dir, "sweep resume s", 0, "2 of 2 runs done", "2>Slurm's queue has 1 task: ")
}
