#!/usr/bin/env bash
# Times a training step of torchpe and of the same model in PyTorch (scripts/peer_torch.py), alternating,
# on one CPU thread: as installed, and with OPENBLAS_CORETYPE set for PyTorch to the kernel that torchpe
# uses. Prints the median of the rounds' medians and the shortest step, which other work on the machine
# affects least, with their ratios. fmri uses batch 32 on both sides. TORCH_ROOT is a folder with another
# Debian and its PyTorch, which is timed as well (root): scripts/debian_folder.sh
# FOLDER trixie main python3-torch libopenblas0-pthread
#   [PRESETS="lst quick nmar fmri"] [TORCH_ROOT=FOLDER] scripts/bench.sh [rounds] [steps]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-3} steps=${2:-30} presets=${PRESETS:-lst quick nmar fmri}
python=${PYTHON:-/usr/bin/python3}
ours() { # ours PRESET: torchpe's flags for it
  [ "$1" = fmri ] && echo "--preset fmri --batch 32 --surrogate subjects=2,frames=400" || echo "--preset $1"
}
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "bench: $python has no PyTorch; torchpe alone:"
  for p in $presets; do bin/torchpe bench step $(ours $p) --threads 1; done
  exit 0
fi
# add NAME: appends NAME with the time and memory of the record on standard input
add() {
  "$python" -c "import json, sys; r = json.load(sys.stdin)
print('$1', r['step_ms_median'], r['step_ms_min'], r['peak_rss_mb'])" >>"$results"
}
kernel=$(bin/torchpe doctor --json | "$python" -c 'import json,sys; print(json.load(sys.stdin)["blas_kernel"])')
results=$(mktemp)
# PyTorch reads /proc/cpuinfo; without it, it does not use AVX.
if [ -n "${TORCH_ROOT:-}" ] && [ ! -e "$TORCH_ROOT/proc/cpuinfo" ]; then
  mount -t proc proc "$TORCH_ROOT/proc"
  trap 'umount "$TORCH_ROOT/proc"' EXIT
fi
for round in $(seq "$rounds"); do
  for preset in $presets; do
    bin/torchpe bench step $(ours $preset) --threads 1 --steps "$steps" --json | add "$preset torchpe"
    for kind in installed set slow; do
      case $kind in
        installed) unset OPENBLAS_CORETYPE ;;
        set) export OPENBLAS_CORETYPE=$kernel ;;
        # Debian 12's OpenBLAS uses this on unknown CPUs.
        slow) export OPENBLAS_CORETYPE=Prescott ;;
      esac
      peer=(--preset "$preset" --steps "$steps" --warmup 5 --threads 1 --json)
      "$python" scripts/peer_torch.py "${peer[@]}" | add "$preset pytorch-$kind"
      if [ -n "${TORCH_ROOT:-}" ] && [ $kind != slow ]; then
        chroot "$TORCH_ROOT" python3 - "${peer[@]}" <scripts/peer_torch.py | add "$preset other-$kind"
      fi
    done
    unset OPENBLAS_CORETYPE
  done
done
"$python" - "$results" "$presets" <<'PY'
import statistics, sys
rows = [line.split() for line in open(sys.argv[1])]
for preset in sys.argv[2].split():
    ours = None
    for who in ("torchpe", "pytorch-installed", "pytorch-set", "pytorch-slow", "other-installed", "other-set"):
        if not any(r[:2] == [preset, who] for r in rows):
            continue
        mine = [[float(v) for v in r[2:]] for r in rows if r[:2] == [preset, who]]
        ms, shortest = statistics.median(m[0] for m in mine), min(m[1] for m in mine)
        ours = ours or (ms, shortest)
        print(f"{preset:6} {who:18} {ms:8.1f} ms a step: {ms / ours[0]:5.2f}x   shortest {shortest:8.1f}: "
              f"{shortest / ours[1]:5.2f}x   {max(m[2] for m in mine):6.0f} MB")
PY
rm -f "$results"
