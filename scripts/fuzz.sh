#!/usr/bin/env bash
# Fuzzes every reader of foreign files in turn, on one CPU thread. What it finds stays in the
# package's testdata/fuzz, and is tried by every go test. What is there already are up to 24 inputs
# a target, each below 2 kB, of four minutes of fuzzing: chosen one by one for the most code that
# neither the target's seeds nor those before reach, or reach as often (to a power of two).
#   scripts/fuzz.sh [seconds for each] [packages]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
failed=0
while IFS=: read -r file target; do
  echo "== $(dirname "$file") $target"
  # Large inputs are not made minimal: that takes a minute each, in which nothing new is tried.
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" \
    -fuzzminimizetime 100x -parallel 1 | tail -n 4 || failed=1
done < <(grep -rHoE '^func Fuzz[A-Za-z0-9]*' --include='*_test.go' ${@:-data train/runlog} | sed 's/func //' | sort)
exit $failed
