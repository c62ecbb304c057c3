#!/usr/bin/env bash
# Fuzzes every reader of foreign files in turn, on one CPU thread. Inputs that fail stay in the
# package's testdata/fuzz, where every go test tries them. The committed inputs, up to 24 per target
# and each below 2 kB, come from four minutes of fuzzing. They were chosen one by one to reach the most
# code that neither the target's seeds nor earlier inputs reach, or reach as often (to a power of two).
#   scripts/fuzz.sh [seconds for each] [packages]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
failed=0
while IFS=: read -r file target; do
  echo "== $(dirname "$file") $target"
  # Large inputs are not minimised: that takes a minute each, during which nothing new is tried.
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" \
    -fuzzminimizetime 100x -parallel 1 | tail -n 4 || failed=1
done < <(grep -rHoE '^func Fuzz[A-Za-z0-9]*' --include='*_test.go' ${@:-data train/runlog} | sed 's/func //' | sort)
exit $failed
