#!/usr/bin/env bash
# What a training step would take on more cores than there are here: the threads of each OpenMP region
# run one after the other, and the slowest of them counts, with what runs outside regions. What this
# cannot show: memory that cores share, caches of their own, and the time to wake threads. Needs gcc.
#   scripts/simulate_cores.sh CORES FLAGS        as: 8 --preset quick --members 8
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
cores=$1 program=$(dirname "$0")/../bin/torchpe
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O2 -shared -fPIC -Wall -o "$work/simulate.so" "$(dirname "$0")/simulate_cores.c"
# steps N FLAGS: the four numbers of simulate_cores.c after N steps
steps() {
  SIMULATE_CORES="$work/totals" LD_PRELOAD="$work/simulate.so" "$program" train "${@:2}" --threads "$cores" \
    --limit-steps "$1" --epochs 1 --device cpu --quiet --out "$work/run" >/dev/null
  rm -r "$work/run"
  od -An -t f8 -w32 "$work/totals"
  rm "$work/totals"
}
for _ in 1 2 3; do
  one=$("$program" bench step "$@" --threads 1 --device cpu --json | sed -n 's/.*"step_ms_median": \([0-9.]*\).*/\1/p')
  # Between 3 and 63 steps, what begins and ends a run is the same.
  echo "$one $(steps 3 "$@") $(steps 63 "$@")"
done | awk -v cores="$cores" '{
  outside = ($6 - $2) / 0.06; work = ($7 - $3) / 0.06; slowest = ($8 - $4) / 0.06
  printf "1 thread %.1f ms; %d cores %.1f ms (%.1f outside %d regions, %.1f in them, where %.1f is all work): %.2fx\n",
    $1, cores, outside + slowest, outside, ($9 - $5) / 60, slowest, work, $1 / (outside + slowest) }'
