#!/usr/bin/env bash
# Runs the tests that need a GPU without one: libtorch's CUDA library, its kernels and torchpe's own,
# as nvcc compiled them, on the emulated CUDA runtime of this folder. Works in the folder of
# scripts/test_cuda_build.sh, which it runs first. Needs root and Go; takes 15 minutes on two cores.
#   scripts/cudahost/test.sh               all of it
#   scripts/cudahost/test.sh run ARGS      torchpe ARGS, as: run bench step --device cuda:0.
#                                          Its output is in .build/trixie-cuda/cudahost/run.
#                                          CUDAHOST_COMPUTE=0 skips the kernels and so leaves the
#                                          host's time; machine.h has more such settings
set -euo pipefail
cd "$(dirname "$0")/../.."
root="$PWD/.build/trixie-cuda" work="$PWD/.build/trixie-cuda/cudahost"

die() {
  echo "test-cuda-host: $*" >&2
  exit 1
}

# inside COMMAND: in the folder, with the emulated libraries
inside() {
  chroot "$root" env LD_LIBRARY_PATH=/cudahost/lib:/torchpe/lib CUDAHOST_PTX=/cudahost/ptx \
    CUBLAS_WORKSPACE_CONFIG=:4096:8 "$@"
}

prepare() {
  scripts/test_cuda_build.sh
  mkdir -p "$work/src/ptx" "$work/ptx" "$work/run"
  cp -p scripts/cudahost/*.{cc,h} scripts/cudahost/build.sh "$work/src/"
  cp -p scripts/cudahost/ptx/* "$work/src/ptx/"
  chroot "$root" /cudahost/src/build.sh /torchpe/lib/libtorchpe.so /cudahost/lib
  if [ "$root/torchpe/lib/libtorchpe.so" -nt "$work/ptx/index" ]; then
    rm -rf "$work/ptx"
    mkdir "$work/ptx"
    local cuda=/usr/lib/x86_64-linux-gnu/libtorch_cuda.so
    for library in /torchpe/lib/libtorchpe.so $cuda; do
      chroot "$root" sh -c "cd /cudahost/ptx && cuobjdump -xptx all $library >/dev/null"
    done
    (cd "$work/ptx" && grep -o '\.entry [A-Za-z0-9_$]*' *.ptx >index)
  fi
  if ! mountpoint -q "$root/proc"; then
    mount --bind /proc "$root/proc"
    trap 'umount "$root/proc"' EXIT
  fi
}

interpreter() {
  chroot "$root" sh -c 'cd /cudahost/src/ptx &&
    nvcc -O3 -std=c++17 -arch=sm_90 -ptx test_kernels.cu -o ../objects/test_kernels.ptx &&
    g++ -std=c++17 -O2 -ffp-contract=off test_ptx.cc ../objects/ptx/*.o -o ../objects/test_ptx &&
    ../objects/test_ptx ../objects/test_kernels.ptx'
}

# tests PACKAGE PATTERN: as `go test` runs them, with the test data of the package and of those below
tests() {
  local name
  name=$(basename "$1")
  mkdir -p "$work/run/$1"
  go test -c -o "$work/$name.test" "./$1"
  (cd "$1" && find . -type d -name testdata -exec cp -r --parents {} "$work/run/$1/" \;)
  inside sh -c "cd /cudahost/run/$1 && /cudahost/$name.test -test.timeout 60m -test.run '$2'"
}

torchpe() {
  inside sh -c 'cd /cudahost/run && exec /cudahost/torchpe "$@"' torchpe "$@"
}

# fault STATUS PATTERN ARGS: torchpe ARGS exits with STATUS and prints PATTERN
fault() {
  local want=$1 pattern=$2 status=0
  shift 2
  torchpe "$@" >"$work/fault.log" 2>&1 || status=$?
  [ $status = "$want" ] && grep -qE "$pattern" "$work/fault.log" && return
  tail -n 5 "$work/fault.log"
  die "torchpe $*: status $status, not $want with \"$pattern\""
}

faults() {
  rm -rf "$work/run/faults"
  local small=(--preset quick --d-model 16 --layers 1 --batch 512 --epochs 2 --quiet)
  local train=(train "${small[@]}" --out)
  CUDAHOST_GPUS=0 fault 1 'has CUDA but finds no GPU' "${train[@]}" faults/none --device cuda
  CUDAHOST_GPUS=2 fault 1 'libtorch finds 2, numbered from 0' \
    "${train[@]}" faults/index --device cuda:2
  CUDAHOST_MEMORY=20 fault 1 'out of memory.*' \
    "${train[@]}" faults/memory --device cuda --d-model 512
  grep -q 'fewer --members or a smaller --batch' "$work/fault.log" ||
    die "the message does not say what would fit"
  CUDAHOST_LOSE=2000 fault 1 'the GPU failed.*--resume' "${train[@]}" faults/lost --device cuda
  fault 0 'learn' "${train[@]}" faults/lost --device cpu --resume
  local sweep=(--epochs 1 --device cuda --quiet --out)
  CUDAHOST_LOSE=9000 CUDAHOST_COMPUTE=0 fault 1 '0 of 8 runs done' \
    sweep table1 --seeds 1 "${sweep[@]}" faults/sweep
  [ "$(grep -cE '│ [0-9]+ .*│ device ' "$work/fault.log")" = 8 ] ||
    { cat "$work/fault.log"; die "a lost GPU was reported as another failure"; }
  CUDAHOST_MEMORY=700 CUDAHOST_COMPUTE=0 fault 0 '16 of 16 runs done' \
    sweep table1 --seeds 1,2 "${sweep[@]}" faults/split
  # Where the memory of recorded steps leaves too little for an evaluation, they release it, and single
  # steps are recorded anew after each of two evaluations.
  rm -f "$work/room.log"
  CUDAHOST_LOG=/cudahost/room.log CUDAHOST_MEMORY=2600 CUDAHOST_COMPUTE=0 fault 0 'epoch 3/3' \
    train --preset lst --epochs 3 --seeds "$(seq -s , 16)" --device cuda --out faults/room
  [ "$(grep -c '^graph ' "$work/room.log")" = 4 ] ||
    die "an evaluation had enough memory: the test must give it less"
}

prepare
go build -o "$work/torchpe" ./cmd/torchpe
if [ "${1:-}" = run ]; then
  torchpe "${@:2}"
  exit
fi
interpreter
faults
tests torchpe GPU
CUDAHOST_COMPUTE=0 tests train TestGPUMemoryIsFlat
# The longest: 9 of 15 minutes. libtorch keeps a workspace of 32 MiB for cuBLAS a stream and thread.
CUDAHOST_MEMORY=16384 tests train TestGPUGraphEqualsEager &
graphs=$!
tests train 'TestGPU[^GM]'
wait $graphs
echo "test-cuda-host: all passed"
