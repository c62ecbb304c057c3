#!/usr/bin/env bash
# The job script of all sweeps. sbatch job.sh LIST MAX_RESTARTS PROGRAM...
# Array index i runs "PROGRAM... --index I" for each task I in line i+1 of LIST, one after the other.
# It does not exec the program, even for one task: it records how a killed program ended.
list=$1 max_restarts=$2
shift 2
program=("$@")
index=${SLURM_ARRAY_TASK_ID:?this script runs as a job array of Slurm}
restarts=${SLURM_RESTART_COUNT:-0}
say() { printf '== %(%F %T)T %s: %s\n' -1 "job ${SLURM_ARRAY_JOB_ID:-?}_$index on ${HOSTNAME:-?}" "$*"; }
if ! [ -r "$list" ]; then say "$list cannot be read from this node"; exit 1; fi
mapfile -t -s "$index" -n 1 line <"$list"
read -r -a tasks <<<"${line[0]-}"
if [ ${#tasks[@]} -eq 0 ]; then say "no line $((index + 1)) in $list"; exit 1; fi
if [ "$restarts" -gt "$max_restarts" ]; then
  say "start $((restarts + 1)) is one too many, given up"
  exit 1
fi
say "tasks ${tasks[*]}, start $((restarts + 1))"

requeue() { # has Slurm queue this job again
  if [ -n "$term" ]; then exit 143; fi # cancelled or preempted: Slurm decides
  if [ "$restarts" -ge "$max_restarts" ]; then
    say "start $((restarts + 1)) was the last, given up"
    exit 1
  fi
  say "asks to be queued again"
  if scontrol requeue "${SLURM_ARRAY_JOB_ID}_$index"; then exit 0; fi
  say "scontrol could not do that; a site with RequeueExit=75 does"
  exit 75
}

usr1='' term='' child='' passed='' interrupted=''
pass() { # hands USR1 on to the program, once
  if [ -n "$usr1" ] && [ -n "$child" ] && [ "$passed" != "$child" ]; then
    passed=$child
    kill -USR1 "$child" 2>/dev/null
  fi
}
trap 'usr1=1 interrupted=1; pass' USR1
# Slurm sends TERM to all processes of a job. Handed on, it would reach the program twice.
trap 'term=1 interrupted=1' TERM

run() { # run TASK: sets code to the exit status of the program, however many signals end a wait
  local status
  "${program[@]}" --index "$1" &
  child=$!
  pass
  while
    interrupted=''
    wait "$child"
    status=$?
    if [ "$status" != 127 ] || [ -z "$code" ]; then code=$status; fi # 127: bash knew its end before
    [ -n "$interrupted" ]
  do :; done
  child=''
}

failed=0
for task in "${tasks[@]}"; do
  if [ -n "$term" ]; then exit 143; fi
  if [ -n "$usr1" ]; then requeue; fi
  code=''
  run "$task"
  # After USR1, 138: it came before the program listened. -1: the program ended as the signal
  # came, and bash lost its exit status.
  if [ -n "$usr1" ] && { [ "$code" = 138 ] || [ "$code" = -1 ]; }; then code=75; fi
  if [ "$code" = 75 ]; then requeue; fi
  # Stopped by INT or TERM, its state is saved. When Slurm ends the job, the program may end
  # before this script has its TERM.
  if [ "$code" = 130 ] || [ "$code" = 143 ]; then term=1; fi
  if [ "$code" != 0 ]; then failed=$code; say "task $task ended with exit status $code"; fi
  # A signal killed the program, which could record nothing. When the job itself is ended, the task
  # is to go on later.
  if [ "$code" -gt 128 ] && [ -z "$term" ]; then "${program[@]}" --index "$task" --ended "$code"; fi
done
exit "$failed"
