#!/usr/bin/env bash
# Runs checks that need an NVIDIA GPU, on a machine with PyTorch (CUDA), nvcc and g++, but no Go: copy
# the checkout and .build/gpu.tgz, which `make gpu-kit` builds elsewhere.
#   scripts/gpu_check.sh [PART]...        default: build smoke bench peers more; then, in a call of its
#                                         own, build tests trace
# build     the shim against python3's PyTorch, with CMake or, if that fails, with build_direct.py;
#           meanwhile torch.compile fills its cache for the peers
# smoke     whether a GPU computes at all, and how far the fused operators are from the CPU's
# bench     a step of torchpe in the cases with goals
# peers     a step of PyTorch, eager, compiled, as one CUDA graph and stacked with torch.func, the
#           decisive ones first. They need no shim
# more      a step of torchpe with other numbers of members and other flags
# tests     the GPU agrees with the CPU for every scheme and task, recorded steps with launched ones,
#           resumed runs with whole ones
# sanitize  compute-sanitizer over small steps
# trace     libtorch's traces of steps, and the bytes that each kernel moves (Nsight Compute)
# science   the sweeps of SCIENCE (table1 fig2 fig3 fig4 fig5) at EPOCHS (400) epochs, as far as
#           SECONDS_EACH (150) allows; an interrupted sweep continues at the next call. Then the report
#           of all finished runs
# After DEADLINE seconds (560) nothing runs any more: steps that do not fit are skipped, as summary.md
# says. It is rewritten after every line, so a killed script leaves its results so far.
# Results go to $OUT, or results/gpu-NAME: eight files at most. STEPS (300) of bench, after WARMUP (5)
# steps and WARMUP_SECONDS (2). DEVICE=cpu tests this script without a GPU.
set -uo pipefail
cd "$(dirname "$0")/.."
kit=${KIT:-$PWD/.build/gpu} python=${PYTHON:-python3} device=${DEVICE:-cuda}
deadline=${DEADLINE:-560} steps=${STEPS:-300} failed=0
timing=(--device "$device" --steps "$steps" --warmup "${WARMUP:-5}"
  --warmup-seconds "${WARMUP_SECONDS:-2}" --json)

die() { echo "gpu_check: $*" >&2; exit 2; }

# ---------------------------------------------------------------------- running, noting, summing up

# bounded SECONDS COMMAND...: the command, ended after this time or at the deadline
bounded() {
  local limit=$(($1 < deadline - SECONDS ? $1 : deadline - SECONDS))
  timeout -k 5 $((limit > 1 ? limit : 1)) "${@:2}"
}

# step NAME NEED LIMIT COMMAND...: runs the command for at most LIMIT seconds and notes how it ended;
# skips it if fewer than NEED are left. Its output is in $work/output, its errors are appended to
# errors.txt.
step() {
  local name=$1 need=$2 limit=$3 start=$SECONDS status=0
  : >"$work/output"
  if [ $((deadline - SECONDS)) -lt "$need" ]; then
    note "$name" skipped 0 "the deadline is near"
    return 1
  fi
  bounded "$limit" "${@:4}" >"$work/output" 2>"$work/error" || status=$?
  if [ $status = 0 ]; then
    note "$name" ok $((SECONDS - start))
    return
  fi
  failed=1
  [ $status != 124 ] && [ $status != 137 ] || echo "ended after $((SECONDS - start)) s" >>"$work/error"
  { echo "== $name: status $status"; cat "$work/error"; tail -n 20 "$work/output"; } >>"$out/errors.txt"
  note "$name" "failed ($status)" $((SECONDS - start)) "$(cat "$work/output" "$work/error" | reason)"
  return 1
}

reason() { grep -v '^ *$' | tail -n 1 | tr '|' '/' | cut -c1-200; }

# note NAME STATUS SECONDS [TEXT]: a line of the summary
note() {
  echo "== $1: $2 ($3 s; $SECONDS s in all) ${4:-}"
  echo "| $1 | $2 | $3 | ${4:-} |" >>"$work/steps"
  summary
}

summary() {
  {
    echo "# gpu_check ${parts[*]} on $gpu, $SECONDS of $deadline s"
    echo
    cat "$work/tables" "$work/traced"
    echo
    echo "| step | status | seconds | |"
    echo "|---|---|---|---|"
    cat "$work/steps"
    if [ -s "$work/twins" ]; then printf '\n```\n%s\n```\n' "$(cat "$work/twins")"; fi
  } >"$work/summary"
  mv "$work/summary" "$out/summary.md"
}

# --------------------------------------------------------------------------------------- the parts

build() {
  local warmers=()
  [[ " ${parts[*]} " != *" peers "* ]] || each_peer warm_peer
  if [ "$device" != cpu ]; then # this GPU's kernels alone are compiled
    local capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    export TORCHPE_CMAKE_FLAGS=${TORCHPE_CMAKE_FLAGS:--DTORCHPE_CUDA_ARCHITECTURES=$capability}
  fi
  # Each has time for all of it: CMake 90 to 150 s with nvcc, build_direct.py likewise.
  if ! LIBTORCH=python build_by CMake "${CMAKE_SECONDS:-200}" ${BUILD_SHIM:-scripts/build_shim.sh}; then
    build_by build_direct.py 250 "$python" scripts/build_direct.py
  fi
  ! command -v cuobjdump >/dev/null || cuobjdump --dump-resource-usage lib/libtorchpe.so 2>&1 | c++filt >"$out/kernels.txt"
  [ ${#warmers[@]} = 0 ] || wait "${warmers[@]}"
}

# build_by NAME LIMIT COMMAND...: builds and says whether the result works
build_by() {
  local status=0
  step "build by $1" 60 "$2" "${@:3}" || status=1
  cat .build/shim*/build.log "$work/output" "$work/error" >>"$out/build.log" 2>/dev/null
  [ $status = 0 ] && works "of the build by $1"
}

# works WHAT: whether the program starts with the shim and, on a GPU, finds it and has its kernels
works() {
  step "doctor $1" 5 60 "$kit/torchpe" doctor || return
  cat "$work/output" >>"$out/system.txt"
  [ "$device" = cpu ] || { grep -q "^CUDA *yes.*own kernels" "$work/output" && ! grep -q bf16 "$work/output"; } && return
  note "own kernels and bf16 $1" failed 0 "$(grep -A 1 '^CUDA' "$work/output" | tr '\n' ' ' | reason)"
  failed=1
  return 1
}

# starts WHAT: whether there is a shim to run that part of the check with
starts() {
  bounded 60 "$kit/torchpe" doctor >/dev/null 2>&1 && return
  note "$1" skipped 0 "torchpe does not start: no shim"
  return 1
}

smoke() {
  starts smoke || return
  { nvidia-smi; nvcc --version; "$python" -c 'import torch; print("PyTorch", torch.__version__)'; } >>"$out/system.txt" 2>&1
  step "smoke: 20 steps of 15 members" 10 30 "$kit/torchpe" bench step --device "$device" --preset lst --members 15 --steps 20
  in_package "smoke: fused operators" 10 60 torchpe -test.run OperatorsOnGPU -test.short
}

# in_package NAME NEED LIMIT PACKAGE FLAGS...: a step of its test program, in its folder
in_package() {
  step "$1" "$2" "$3" env -C "$4" "$kit/${4//\//_}.test" -test.v "${@:5}"
  { echo "== $1"; cat "$work/output" "$work/error"; } >>"$out/tests.txt"
  sed -n 's/^.*go:[0-9]*: \(twin .*\)/\1/p' "$work/output" >>"$work/twins"
  summary
}

# ours LABEL FLAGS..., peer LABEL FLAGS...: a line of bench.jsonl each
ours() {
  step "torchpe: $1" 12 90 "$kit/torchpe" bench step "${timing[@]}" "${@:2}" && record torchpe "$1"
}
peer() {
  step "PyTorch: $1" 15 150 "$python" scripts/peer_torch.py "${timing[@]}" "${@:2}" && record pytorch "$1"
}
record() {
  # torchpe's object has several lines; PyTorch may print something before its own
  local result
  result=$([ "$1" = torchpe ] && tr -d '\n' <"$work/output" || tail -n 1 "$work/output")
  echo "{\"who\": \"$1\", \"label\": \"$2\", \"result\": $result}" >>"$out/bench.jsonl"
  "$python" scripts/gpu_summary.py "$out/bench.jsonl" --gpu "$gpu" >"$work/tables" 2>>"$out/errors.txt"
  summary
}

# warm_peer LABEL FLAGS...: compiles if the peer does. Not with 60 members: all run at once, and the
# GPU's memory is limited.
warm_peer() {
  [[ " $* " == *" --compile "* && $1 != *60* ]] || return 0
  TORCHINDUCTOR_COMPILE_THREADS=4 bounded 150 nice -n 10 "$python" scripts/peer_torch.py \
    --device "$device" --steps 1 --warmup 0 "${@:2}" >/dev/null 2>&1 &
  warmers+=($!)
}

lst=(--preset lst) fmri=(--preset fmri --members 8 --batch 128 --surrogate subjects=2,frames=400)
bench() {
  starts bench || return
  local precision
  for precision in tf32 bf16; do
    ours "lst, 15 members, $precision" "${lst[@]}" --members 15 --precision $precision
    ours "lst, 1 model, $precision" "${lst[@]}" --precision $precision
  done
  ours "fmri, 8 members, bf16" "${fmri[@]}" --precision bf16
  ours "fmri, 8 members, tf32, efficient" "${fmri[@]}" --precision tf32 --attention efficient
  ours "nmar, 32 members, tf32" --preset nmar --members 32 --precision tf32
}

more() {
  starts more || return
  local members precision
  for members in 60 30; do
    for precision in tf32 bf16; do
      ours "lst, $members members, $precision" "${lst[@]}" --members $members --precision $precision
    done
  done
  ours "fmri, 8 members, tf32, flash" "${fmri[@]}" --precision tf32 --attention flash
  ours "lst, 15 members, fp32" "${lst[@]}" --members 15 --precision fp32
  ours "fmri, 8 members, tf32, deterministic" "${fmri[@]}" --precision tf32 --deterministic
  ours "lst, 15 members, tf32, launched" "${lst[@]}" --members 15 --precision tf32 --no-graph
  ours "lst, 1 model, fp32, launched" "${lst[@]}" --precision fp32 --no-graph
}

# each_peer COMMAND: the command with the label and flags of every peer, the decisive ones first
each_peer() {
  local best=(--adam fused --compile default --graph) precision
  "$1" "lst, 1 model, eager" --preset lst
  for precision in bf16 tf32; do
    "$1" "lst, 15 members stacked, one graph, compiled, $precision" --preset lst --members 15 "${best[@]}" --$precision
    "$1" "lst, 1 model, one graph, compiled, $precision" --preset lst "${best[@]}" --$precision
  done
  "$1" "fmri, 1 model, eager" --preset fmri --batch 128
  for precision in bf16 tf32; do
    "$1" "fmri, 1 model, one graph, compiled, $precision" --preset fmri --batch 128 "${best[@]}" --$precision
  done
  "$1" "nmar, 1 model, eager" --preset nmar
  "$1" "nmar, 32 members stacked, one graph, compiled, tf32" --preset nmar --members 32 "${best[@]}" --tf32
  for precision in bf16 tf32; do
    "$1" "lst, 60 members stacked, one graph, compiled, $precision" --preset lst --members 60 "${best[@]}" --$precision
  done
  [ "$1" != peer ] || best_again
  for precision in bf16 tf32; do
    "$1" "lst, 1 model, eager, fused Adam, $precision" --preset lst --adam fused --$precision
    "$1" "lst, 15 members stacked, one graph, $precision" --preset lst --members 15 --adam fused --graph --$precision
  done
  "$1" "lst, 1 model, compiled with graphs, tf32" --preset lst --adam fused --compile reduce-overhead --tf32
}

peers() { each_peer peer; }

# best_again: the two best compiled peers so far, once more with a separate cache: autotuning beside other
# programs on the GPU may have chosen badly.
best_again() {
  local again
  again=$("$python" scripts/gpu_summary.py "$out/bench.jsonl" --best-compiled 2 2>>"$out/errors.txt")
  each_peer peer_again
}
peer_again() {
  grep -qxF "$1" <<<"$again" || return 0
  TORCHINDUCTOR_CACHE_DIR=$work/inductor peer "$1, compiled anew" "${@:2}"
}

tests() {
  starts tests || return
  local package
  in_package "GPU tests of torchpe" 20 200 torchpe -test.run GPU
  in_package "GPU tests of train" 20 400 train -test.run GPU
  for package in torchpe models models/pe train; do
    in_package "short tests of $package" 30 400 "$package" -test.short -test.skip GPU
  done
}

sanitize() {
  starts sanitize || return
  local small=(bench step --device "$device" --d-model 32 --layers 2 --batch 8 --steps 2 --warmup 1 --no-graph) tool
  export PYTORCH_NO_CUDA_MEMORY_CACHING=1 # every tensor an allocation: writes beside it are seen
  for tool in memcheck racecheck; do
    sanitized $tool "puzzles" "${small[@]}" --preset quick --members 2
    sanitized $tool "puzzles, bf16" "${small[@]}" --preset quick --members 2 --precision bf16
    sanitized $tool "15 nodes" "${small[@]}" --preset nmar --members 2
    sanitized $tool "40 nodes" "${small[@]}" --preset nmar --nmar-nodes 40 --attention efficient
  done
  unset PYTORCH_NO_CUDA_MEMORY_CACHING
}
sanitized() {
  step "$1: $2" 30 180 compute-sanitizer --tool "$1" --error-exitcode 9 "$kit/torchpe" "${@:3}"
  { echo "== $1: $2"; cat "$work/output" "$work/error"; } >>"$out/sanitizer.txt"
}

trace() {
  starts trace || return
  local of_15=("${lst[@]}" --members 15) precision
  mkdir "$work/traces"
  for precision in tf32 bf16; do
    traced "lst-$precision" "${of_15[@]}" --precision $precision
    traced "fmri-$precision" "${fmri[@]}" --attention efficient --precision $precision
    traced "lst-alone-$precision" --preset lst --precision $precision
  done
  for precision in tf32 bf16; do
    moved_bytes "lst-$precision" "${of_15[@]}" --precision $precision
    moved_bytes "fmri-$precision" "${fmri[@]}" --attention efficient --precision $precision
  done
}
# traced NAME FLAGS...: the kernels of recorded steps
traced() {
  step "trace of $1" 15 90 "$kit/torchpe" bench step --device "$device" --steps 20 --warmup-seconds 2 \
    --trace "$work/traces/$1.json" "${@:2}" || return
  tar -czf "$out/traces.tar.gz" -C "$work" traces
  "$python" scripts/gpu_kernels.py "$work"/traces/*.json >"$out/trace.csv" 2>>"$out/errors.txt" &&
    "$python" scripts/gpu_summary.py --trace "$out/trace.csv" >"$work/traced" 2>>"$out/errors.txt"
}
# moved_bytes NAME FLAGS...: time and bytes of each launch in some steps, by Nsight Compute
moved_bytes() {
  step "bytes of $1" 30 180 ncu --csv --clock-control none --launch-skip 1000 --launch-count 400 \
    --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum \
    "$kit/torchpe" bench step --device "$device" --steps 20 --no-graph "${@:2}"
  cp "$work/output" "$work/traces/$1-bytes.csv" && tar -czf "$out/traces.tar.gz" -C "$work" traces
}

science() {
  starts science || return
  local preset length
  for preset in ${SCIENCE-table1 fig2 fig3 fig4 fig5}; do
    # Networks and fMRI: 50,000 steps.
    case $preset in fig4 | fig5 | figA1[234]) length= ;; *) length="--epochs ${EPOCHS:-400}" ;; esac
    step "$preset $length" 30 "${SECONDS_EACH:-150}" "$kit/torchpe" sweep "$preset" $length \
      --out ".build/science/$preset" --device "$device" --quiet
  done
  step report 10 120 "$kit/torchpe" report .build/science --out .build/science-report &&
    tar -czf "$out/report.tar.gz" -C .build science-report
  "$kit/torchpe" runs list .build/science --csv "$out/runs.csv"
}

# ----------------------------------------------------------------------------------------- the run

[ $# -gt 0 ] || set -- build smoke bench peers more
parts=("$@")
for part in "${parts[@]}"; do
  case $part in
    build | smoke | bench | peers | more | tests | sanitize | trace | science) ;;
    *) die "$part: build, smoke, bench, peers, more, tests, sanitize, trace or science" ;;
  esac
done
if [ "$kit.tgz" -nt "$kit/sources" ]; then mkdir -p "$kit" && tar -xmzf "$kit.tgz" -C "$kit"; fi
[ -x "$kit/torchpe" ] ||
  die "no $kit.tgz: run make gpu-kit on a machine with Go, and copy .build/gpu.tgz here (git ignores it)"
[ "$(scripts/gpu_kit.sh sources)" = "$(cat "$kit/sources")" ] ||
  die "$kit was built from other sources than these: run make gpu-kit again"
gpu=cpu
if [ "$device" != cpu ]; then
  gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-') && [ -n "$gpu" ] ||
    die "nvidia-smi finds no GPU"
fi
out=${OUT:-results/gpu-$gpu}
mkdir -p "$out"
rm -f "$out"/{bench.jsonl,errors.txt,build.log,tests.txt,system.txt,sanitizer.txt}
work=$(mktemp -d) && touch "$work"/{steps,tables,traced,twins}
trap 'rm -rf "$work"' EXIT
export PYTHON=$python LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" TORCHINDUCTOR_CACHE_DIR=$PWD/.build/inductor
# --deterministic, even if an earlier test ran without.
export CUBLAS_WORKSPACE_CONFIG=${CUBLAS_WORKSPACE_CONFIG:-:4096:8}
PATH=$PATH:/usr/local/cuda/bin$(printf ':%s' /opt/nvidia/nsight-compute/*) # nvcc, ncu and others, where installed
unset TORCH_ALLOW_TF32_CUBLAS_OVERRIDE # float32 is float32 where torchpe says so
for part in "${parts[@]}"; do $part; done
sed '/^```/,$d' "$out/summary.md" # without the twins, which are many lines
exit $failed
