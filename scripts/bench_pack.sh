#!/usr/bin/env bash
# Times a sweep of 40 configurations (5 sigmas, 2 learning rates, 4 seeds; preset quick, float64,
# CPU) one by one and packed as ensembles, and prints both wall times and the largest difference
# between their results, which must be below 1e-9.
#   [PACK=auto] scripts/bench_pack.sh [flags of torchpe sweep, such as --epochs 10]
set -euo pipefail
cd "$(dirname "$0")/.."
program=${TORCHPE:-bin/torchpe} out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for pack in 1 "${PACK:-auto}"; do
  name=packed; [ "$pack" = 1 ] && name=single
  start=$(date +%s.%N)
  "$program" sweep --preset quick --device cpu --dtype float64 --pe learn --sigma 0.1,0.2,0.5,1,2 \
    --lr 1e-4,3e-4 --seeds 1:4 "$@" --pack "$pack" --out "$out/$name" --quiet >"$out/$name.txt" ||
    { cat "$out/$name.txt" >&2; exit 1; }
  echo "$name $(date +%s.%N) $start" >>"$out/times"
done
"${PYTHON:-python3}" - "$out" <<'PY'
import json, math, os, sys
out = sys.argv[1]
seconds = {name: float(end) - float(start) for name, end, start in (line.split() for line in open(f"{out}/times"))}
runs = {name: sorted(os.listdir(f"{out}/{name}/runs")) for name in seconds}
if runs["single"] != runs["packed"] or len(runs["single"]) != 40:
    sys.exit(f"bench_pack: {len(runs['single'])} and {len(runs['packed'])} runs, want the same 40")
worst, where, together, compared = 0.0, "", set(), 0
def differ(a, b, path):
    global worst, where, compared
    if isinstance(a, dict):
        assert a.keys() == b.keys(), path
        for key in a:
            differ(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for i, pair in enumerate(zip(a, b)):
            differ(*pair, f"{path}[{i}]")
    elif isinstance(a, (int, float)) and not isinstance(a, bool):
        compared += 1
        if worst == worst and not abs(a - b) <= worst:  # a NaN on one side is the largest difference of all, and stays
            worst, where = abs(a - b), path
    else:
        assert a == b, path
for name in runs["single"]:
    a, b = (json.load(open(f"{out}/{kind}/runs/{name}/result.json")) for kind in ("single", "packed"))
    together.add(b.get("trained_together", 1))
    differ(a["members"], b["members"], name)
    last = [json.loads(list(open(f"{out}/{kind}/runs/{name}/metrics.jsonl"))[-1]) for kind in ("single", "packed")]
    differ(last[0]["loss"], last[1]["loss"], f"{name}: last loss")
sizes = ", ".join(map(str, sorted(together)))
print(f"40 configurations one by one {seconds['single']:.1f} s, "
      f"packed (ensembles of {sizes}) {seconds['packed']:.1f} s: "
      f"{seconds['single'] / seconds['packed']:.2f} times faster; "
      f"largest difference of {compared} numbers {worst:.1e} {where}")
sys.exit(0 if worst < 1e-9 else 1)
PY
