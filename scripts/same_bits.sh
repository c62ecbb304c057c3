#!/usr/bin/env bash
# Trains small models with two builds of torchpe and compares their output byte for byte, and records
# and results number by number: for changes that must not change results.
#   scripts/same_bits.sh OLD NEW     two programs; each finds its library as usual
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4p' "$0" >&2; exit 2; }
scripts=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small="--layers 2 --d-model 32 --threads 1 --device cpu --quiet"
puzzles="--preset quick --epochs 3 --seeds 1,2 $small"
masked="--steps 50 --batch 8 $small"
for side in old new; do
  program=$1
  [ $side = old ] || program=$2
  program=$(realpath "$program")
  mkdir -p "$work/$side" && cd "$work/$side"
  run() { local name=$1; shift; "$program" train "$@" --out "$name" >/dev/null; }
  for pe in learn-0.2 2d-fixed relative rope random c-nope; do run "lst-$pe" $puzzles --pe $pe; done
  run lst-text $puzzles --fidelity text --pe learn-0.2
  run nmar --task nmar --pe learn-0.1 --nmar-frames 500 $masked
  run fmri --task fmri --pe learn-0.1 --surrogate subjects=3,frames=60 $masked
  "$program" data nmar generate --frames 200 --out nmar-data >/dev/null
  run own --task masked --data nmar-data --pe learn-0.1 $masked
  "$program" data lst generate --out puzzles >/dev/null
  for scheme in $("$program" pe list --json |
    python3 -c 'import json, sys; print(*(s["name"] for s in json.load(sys.stdin)))'); do
    "$program" pe values "$scheme" --tokens 16 --dim 32 --heads 4 --seed 3 \
      --out "values-$scheme.npy" >/dev/null 2>"values-$scheme.txt" || true
  done
  cd - >/dev/null
done
# A run's records and results hold times; a checkpoint's header holds how long training took.
python3 - "$work" "$scripts" <<'PY'
import hashlib, json, os, struct, sys
work = sys.argv[1]
sys.path.insert(0, sys.argv[2])
from run_numbers import NAMES, PLAIN, measures
# Checksums and baselines are newer than version 0.1.0.
times = {"wall_seconds", "step_ms", "steps_per_second", "peak_rss_mb", "config_sha256", "metrics_crc32c", "crc32c", "baselines"}

# Results of 0.1.0 lack these, which its last records have.
recorded = {"loss", "pe_norm", "pe_effective_rank"}
numbers = set(NAMES) | PLAIN | {"pe_motion", "measures", "map"}

def meaning(line, is_member=False):
    """A record, or a member's result, with its numbers by their present keys."""
    rest = {k: v for k, v in line.items() if k not in times | numbers}
    rest["data"] = {k: v for k, v in (line.get("data") or {}).items() if k != "connectivity_modularity"}
    if "members" in rest:
        rest["members"] = [meaning(m, True) for m in rest["members"]]
    rest["measures"] = {k: v for k, v in measures(line).items() if not is_member or k not in recorded}
    rest["map"] = line.get("map") or (line.get("pe_motion") or {}).get("map")
    return rest

def bits(path):
    data = open(path, "rb").read()
    name = os.path.basename(path)
    if name.endswith(".safetensors"):
        size = struct.unpack("<Q", data[:8])[0]
        head = json.loads(data[8:8 + size])
        head.pop("__metadata__", None)
        body = data[8 + size:]
        tensors = {k: hashlib.sha256(body[slice(*v["data_offsets"])]).hexdigest() for k, v in head.items()}
        return json.dumps(tensors, sort_keys=True)
    if name in ("metrics.jsonl", "result.json"):
        lines = data.decode().splitlines() if name.endswith("l") else [data.decode()]
        return json.dumps([meaning(json.loads(line)) for line in lines], sort_keys=True)
    if name == "config.json":  # whose version of the run directory may differ
        config = json.loads(data)
        config.pop("schema", None)
        return json.dumps(config)
    return hashlib.sha256(data).hexdigest()

files = {}
for side in ("old", "new"):
    for folder, _, names in os.walk(os.path.join(work, side)):
        for name in names:
            path = os.path.join(folder, name)
            # The step of the checkpoint before the last depends on the clock.
            if name in ("environment.json", "lock", "checkpoint.prev.safetensors") or "tensorboard" in path:
                continue
            key = os.path.relpath(path, os.path.join(work, side))
            key = key if "checkpoint" not in key else os.path.join(os.path.dirname(key), "checkpoint " + str(name))
            files.setdefault(key, {})[side] = bits(path)
differ = [k for k, v in sorted(files.items()) if len(v) < 2 or v["old"] != v["new"]]
print(f"{len(files)} files, {len(files) - len(differ)} the same")
for k in differ:
    print("differs:", k)
sys.exit(1 if differ or len(files) < 50 else 0)
PY
