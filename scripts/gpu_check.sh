#!/usr/bin/env bash
# Runs everything that needs an NVIDIA GPU, on a machine with PyTorch (CUDA), CMake and a C++
# compiler, and no Go: bring the checkout and .build/gpu, which `make gpu-kit` fills elsewhere.
#   scripts/gpu_check.sh [build] [tests] [bench] [science]        default: build tests bench
# build    the shim against python3's PyTorch, with own CUDA kernels where nvcc is there
# tests    the GPU agrees with the CPU for every scheme and task, recorded steps with launched ones,
#          resumed runs with whole ones
# bench    a step beside PyTorch eager, compiled, as one CUDA graph and stacked with torch.func, in
#          turn; summary.md has the ratios
# science  the sweeps of SCIENCE (table1 fig2 fig3 fig4 fig5) at EPOCHS (400) epochs, as far as
#          SECONDS_EACH (150) allows; an interrupted sweep goes on at the next call. Then the report
#          of all that is finished: report.tar.gz, with every table and figure
# Results go to $OUT, or results/gpu-NAME: eight files at most. ROUNDS (2), STEPS (300) and WARMUP
# (20) of bench. DEVICE=cpu tries this script itself where there is no GPU.
set -uo pipefail
cd "$(dirname "$0")/.."
kit=$PWD/.build/gpu
python=${PYTHON:-python3}
device=${DEVICE:-cuda} rounds=${ROUNDS:-2} steps=${STEPS:-300} warmup=${WARMUP:-20}
[ -x "$kit/torchpe" ] ||
  { echo "gpu_check: no $kit/torchpe: run make gpu-kit on a machine with Go, and copy .build/gpu here" >&2; exit 1; }
[ "$(scripts/gpu_kit.sh sources)" = "$(cat "$kit/sources")" ] ||
  { echo "gpu_check: $kit was built from other sources than these: run make gpu-kit again" >&2; exit 1; }
name=cpu
if [ "$device" != cpu ]; then
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-') &&
    [ -n "$name" ] || { echo "gpu_check: nvidia-smi finds no GPU" >&2; exit 1; }
fi
out=${OUT:-results/gpu-$name}
mkdir -p "$out"
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# --deterministic, also where a test before did without.
export CUBLAS_WORKSPACE_CONFIG=${CUBLAS_WORKSPACE_CONFIG:-:4096:8}
unset TORCH_ALLOW_TF32_CUBLAS_OVERRIDE # float32 is float32 where torchpe says so
failed=0
die() { echo "gpu_check: $*" >&2; exit 1; }
said() { echo "== $* (${SECONDS} s)"; }

build() {
  said build
  if [ "$device" != cpu ]; then # this GPU's kernels alone are compiled, unless it is said otherwise
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    export TORCHPE_CMAKE_FLAGS=${TORCHPE_CMAKE_FLAGS:--DTORCHPE_CUDA_ARCHITECTURES=$capability}
  fi
  LIBTORCH=python PYTHON=$python scripts/build_shim.sh || exit 1
  "$kit/torchpe" doctor | tee "$out/doctor.txt"
  [ "$device" = cpu ] || grep -q "^CUDA *yes.*own kernels" "$out/doctor.txt" ||
    die "no GPU for torchpe, or no kernels of its own: see above"
}

tests() {
  local package name status
  local -A running
  for package in torchpe models models/pe train; do
    name=${package//\//_}
    (cd "$package" && timeout 400 "$kit/$name.test" -test.short -test.timeout 390s) >"$kit/$name.log" 2>&1 &
    running[$package]=$!
  done
  : >"$out/tests.txt"
  for package in torchpe models models/pe train; do
    name=${package//\//_}
    wait "${running[$package]}"
    status=$?
    said "tests of $package: status $status"
    tail -n 15 "$kit/$name.log"
    { echo "== $package: status $status"; cat "$kit/$name.log"; } >>"$out/tests.txt"
    [ $status = 0 ] || { failed=1; echo "gpu_check: tests of $package failed with status $status"; }
  done
}

timing=(--device "$device" --steps "$steps" --warmup "$warmup" --json)
# ours LABEL FLAGS...; peer LABEL FLAGS...: one line of bench.jsonl each; what fails says so there.
ours() {
  local label=$1 text; shift
  : >"$out/error.txt"
  text=$(timeout 120 "$kit/torchpe" bench step "${timing[@]}" "$@" 2>>"$out/error.txt" | tr -d '\n') ||
    { echo "status $?" >>"$out/error.txt"; text=; }
  line torchpe "$label" "$text"
}
peer() {
  local label=$1 text; shift
  : >"$out/error.txt"
  text=$(timeout 200 "$python" scripts/peer_torch.py "${timing[@]}" "$@" 2>>"$out/error.txt" | tail -n 1) ||
    { echo "status $?" >>"$out/error.txt"; text=; }
  line pytorch "$label" "$text"
}
line() {
  [ -n "$3" ] || { echo "gpu_check: $1 $2: $(tail -n 2 "$out/error.txt" | tr '\n' ' ')"; return; }
  echo "{\"who\": \"$1\", \"label\": \"$2\", \"result\": $3}" >>"$out/bench.jsonl"
}

bench() {
  : >"$out/bench.jsonl"
  local round fast=(--tf32 --adam fused)
  for round in $(seq "$rounds"); do
    said "bench, round $round"
    ours "lst, 15 members, tf32" --preset lst --members 15
    ours "lst, 15 members, bf16" --preset lst --members 15 --precision bf16
    ours "lst, 15 members, fp32" --preset lst --members 15 --precision fp32
    ours "lst, 15 members, tf32, launched" --preset lst --members 15 --no-graph
    ours "lst, 1 model, tf32" --preset lst
    ours "lst, 1 model, fp32, launched" --preset lst --precision fp32 --no-graph
    peer "lst, 1 model, eager" --preset lst
    peer "lst, 1 model, eager, tf32, fused Adam" --preset lst --tf32 --adam fused
    peer "lst, 1 model, compiled with graphs, tf32, fused Adam" "${fast[@]}" --preset lst --compile reduce-overhead
    peer "lst, 1 model, one graph by hand, compiled, tf32, fused Adam" \
      "${fast[@]}" --preset lst --compile default --graph
    peer "lst, 15 members stacked, one graph, tf32, fused Adam" --preset lst --members 15 --tf32 --adam fused --graph
    peer "lst, 15 members stacked, one graph, compiled, tf32, fused Adam" \
      "${fast[@]}" --preset lst --members 15 --compile default --graph
    ours "fmri, 8 members, tf32" --preset fmri --members 8 --batch 128 --surrogate subjects=2,frames=400
    peer "fmri, 1 model, eager" --preset fmri --batch 128
    peer "fmri, 1 model, one graph by hand, compiled, tf32, fused Adam" \
      "${fast[@]}" --preset fmri --batch 128 --compile default --graph
    ours "nmar, 32 members, tf32" --preset nmar --members 32
    peer "nmar, 1 model, eager" --preset nmar
    "$python" scripts/gpu_summary.py "$out/bench.jsonl" | tee "$out/summary.md"
  done
}

science() {
  local preset length
  for preset in ${SCIENCE-table1 fig2 fig3 fig4 fig5}; do
    # Networks and fMRI: 50,000 steps.
    case $preset in fig4 | fig5 | figA1[234]) length= ;; *) length="--epochs ${EPOCHS:-400}" ;; esac
    said "$preset $length"
    timeout --signal INT "${SECONDS_EACH:-150}" "$kit/torchpe" sweep "$preset" $length \
      --out ".build/science/$preset" --device "$device" --quiet ||
      echo "gpu_check: $preset did not finish"
  done
  said report
  "$kit/torchpe" report .build/science --out .build/science-report &&
    tar -czf "$out/report.tar.gz" -C .build science-report || failed=1
  "$kit/torchpe" runs list .build/science --csv "$out/runs.csv" || failed=1
}

[ $# -gt 0 ] || set -- build tests bench
for part in "$@"; do
  case $part in
    build | tests | bench | science) $part ;;
    *) echo "gpu_check: $part: build, tests, bench or science" >&2; exit 2 ;;
  esac
done
said "done, results in $out"
exit $failed
