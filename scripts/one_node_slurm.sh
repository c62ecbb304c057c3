#!/usr/bin/env bash
# A real Slurm on this machine only, for tests: its own munge, controller and node, its own ports,
# no systemd, no root.
#   scripts/one_node_slurm.sh install                    Debian or Ubuntu, as root: apt-get install slurm-wlm munge
#   scripts/one_node_slurm.sh start DIR [KEY=VALUE...]   prints SLURM_CONF=DIR/slurm.conf; KEY=VALUE
#                                                        are additional lines for slurm.conf
#   scripts/one_node_slurm.sh crash DIR DAEMON           kill -9 of slurmctld or slurmd
#   scripts/one_node_slurm.sh crash-node DIR             kill -9 of slurmd and of everything on the node: a power cut
#   scripts/one_node_slurm.sh launch DIR DAEMON          starts that daemon again
#   scripts/one_node_slurm.sh attend DIR                 resumes the node and releases held jobs, as
#                                                        an administrator does after a crash
#   scripts/one_node_slurm.sh stop DIR                   cancels the jobs and ends every process that belongs to DIR
# Environment: GPUS (2) pretended GPUs, CPUS (8) pretended cores, REQUEUE_EXIT (75) or 'none'. Exit
# status 3 says that Slurm is not installed.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
action=${1:?install, start, crash, crash-node, launch, attend or stop}

install() {
  if command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v munged >/dev/null; then return; fi
  command -v apt-get >/dev/null ||
    { echo "one_node_slurm: no apt-get here: install Slurm and munge by other means" >&2; exit 3; }
  [ "$(id -u)" = 0 ] ||
    { echo "one_node_slurm: needs root: apt-get install -y --no-install-recommends slurm-wlm munge" >&2; exit 3; }
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends slurm-wlm munge; } >&2 ||
    { echo "one_node_slurm: apt-get failed" >&2; exit 3; }
}
if [ "$action" = install ]; then install; exit; fi

mkdir -p "${2:?a directory}"
dir=$(cd "$2" && pwd)
case $dir in
  *[^A-Za-z0-9_./-]*)
    echo "one_node_slurm: $dir: only letters, digits, _ . / - are safe in slurm.conf" >&2
    exit 2 ;;
esac
[ ${#dir} -le 80 ] || { echo "one_node_slurm: $dir is too long for the name of a socket below it" >&2; exit 2; }
export SLURM_CONF=$dir/slurm.conf
node=$(uname -n); node=${node%%.*}

free_port() { # a port of this machine on which nothing listens, below those that the kernel gives out itself
  local port
  while :; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

launch() { # launch DAEMON [OPTION]
  case $1 in
    munged) munged --key-file="$dir/munge.key" --socket="$dir/munge.sock" \
      --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" --seed-file="$dir/munged.seed" ;;
    slurmctld | slurmd) "$1" -f "$SLURM_CONF" ${2:+"$2"} ;;
    *) echo "one_node_slurm: $1: no such daemon" >&2; exit 2 ;;
  esac
}

# owned [node] prints the ids of the processes that were started from DIR, or only those of the
# node: daemons by their command line, steps by the log that they keep open, and what the jobs
# started by their environment.
owned() {
  local proc name words
  for proc in /proc/[0-9]*; do
    [ -O "$proc/fd" ] && read -r name <"$proc/comm" || continue
    words=()
    if [[ ${1:-} = node && ($name = munged || $name = slurmctld) ]]; then continue; fi
    case $name in
      munged | slurmctld | slurmd) mapfile -d '' -t words <"$proc/cmdline" &&
        [[ ${words[*]} == *"$dir/"* ]] || continue ;;
      slurmstepd) find "$proc/fd" -lname "$dir/slurmd.log" | grep -q . || continue ;;
      *) mapfile -d '' -t words <"$proc/environ" &&
        [[ "${words[*]} " == *"SLURM_CONF=$SLURM_CONF "* && ${words[*]} == *SLURM_JOB_ID=* ]] || continue ;;
    esac
    echo "${proc#/proc/}"
  done 2>/dev/null
}

stop() {
  local pid tries
  for tries in 1 2 3; do
    mapfile -t pids < <(owned)
    [ ${#pids[@]} -eq 0 ] && return
    [ "$tries" = 1 ] && signal=TERM || signal=KILL
    for pid in "${pids[@]}"; do kill -s "$signal" "$pid" 2>/dev/null || true; done
    sleep 0.5
  done
}

start() {
  local gres='' devices=$((${GPUS:-2} - 1)) requeue=${REQUEUE_EXIT:-75} daemon try line
  for daemon in munged slurmctld slurmd sbatch; do
    command -v "$daemon" >/dev/null ||
      { echo "one_node_slurm: $daemon is not installed: scripts/one_node_slurm.sh install" >&2; exit 3; }
  done
  mkdir -p "$dir/state" "$dir/spool"
  chmod 755 "$dir"
  [ -s "$dir/munge.key" ] || (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
  # A GPU must be a character device whose name ends in a number, or CUDA_VISIBLE_DEVICES stays
  # empty: terminals do.
  if [ "$devices" -ge 0 ]; then
    gres="Gres=gpu:$((devices + 1))"
    echo "Name=gpu File=/dev/tty[0-$devices]" >"$dir/gres.conf"
  fi
  {
    # cred_expire is also how long a requeued job waits; 120 s by default. 22.05 takes nothing below
    # 5.
    cat <<CONF
ClusterName=onenode
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=5
SlurmdParameters=config_overrides
MinJobAge=60
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
CONF
    [ "$requeue" = none ] || echo "RequeueExit=$requeue"
    [ -z "$gres" ] || echo GresTypes=gpu
    for line in "$@"; do echo "$line"; done
    # More cores than exist: the tasks of a test mostly sleep.
    echo "NodeName=$node NodeAddr=127.0.0.1 CPUs=${CPUS:-8} $gres State=UNKNOWN"
    echo "PartitionName=debug Nodes=$node Default=YES MaxTime=INFINITE State=UP"
  } >"$SLURM_CONF"
  trap 'stop' ERR
  for daemon in munged slurmctld slurmd; do launch "$daemon" -c; done # -c: forget what an earlier start left in DIR
  for ((try = 0; try < 150; try++)); do
    if [ "$(timeout 5 sinfo -h -o %T 2>/dev/null)" = idle ]; then
      echo "SLURM_CONF=$SLURM_CONF"
      return
    fi
    sleep 0.2
  done
  echo "one_node_slurm: the node did not become idle within 30 s:" >&2
  tail -n 5 "$dir/slurmctld.log" "$dir/slurmd.log" >&2
  stop
  exit 1
}

# attend: a controller that was killed before it saved its state gives a job id again; the node
# refuses that ("Duplicate jobid"), is drained, and the job held, until an administrator
# intervenes.
attend() {
  local job
  case $(sinfo -h -o %T) in *drain*) scontrol update nodename="$node" state=resume ;; esac
  # Of an array whose first tasks have ended, scontrol releases the rest and reports an error.
  while read -r job; do scontrol release "$job" || true; done < <(
    squeue -h -o '%F|%r' | sed -n 's/|.*JobHeld.*//p' | sort -u)
}

case $action in
  start) shift 2; start "$@" ;;
  launch) launch "${3:?slurmctld or slurmd}" ;;
  crash) kill -9 "$(cat "$dir/${3:?slurmctld or slurmd}.pid")" ;;
  crash-node) mapfile -t pids < <(owned node) && kill -9 "${pids[@]}" ;;
  attend) attend ;;
  stop) stop ;;
  *) echo "one_node_slurm: $action: install, start, crash, crash-node, launch, attend or stop" >&2; exit 2 ;;
esac
