#!/usr/bin/env bash
# Runs the tests that need a GPU without one: through libtorch's CUDA library, its kernels and torchpe's own as nvcc compiled them, over
# a CUDA that computes on the CPU (torchpe/internal/ctorch/cudahost). In the folder of test_cuda_build.sh, which it runs first. Needs root
# and Go; takes some 15 minutes on two cores.
#   scripts/test_cuda_host.sh                     all of it
#   scripts/test_cuda_host.sh run ARGS            torchpe ARGS, as: run bench step --device cuda:0. What it writes lies in FOLDER/cudahost/run.
#                                                 CUDAHOST_COMPUTE=0 leaves the kernels out, so that what remains is the host's time;
#                                                 cudahost/machine.h has more such settings
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD/.build/trixie-cuda" work="$PWD/.build/trixie-cuda/cudahost"

# inside COMMAND: in the folder, with the libraries that play a GPU
inside() {
  chroot "$root" env LD_LIBRARY_PATH=/cudahost/lib:/torchpe/lib CUDAHOST_PTX=/cudahost/ptx CUBLAS_WORKSPACE_CONFIG=:4096:8 "$@"
}

prepare() {
  scripts/test_cuda_build.sh
  mkdir -p "$work/src/ptx" "$work/ptx" "$work/run"
  cp -p torchpe/internal/ctorch/cudahost/*.{cc,h,sh} "$work/src/"
  cp -p torchpe/internal/ctorch/cudahost/ptx/* "$work/src/ptx/"
  chroot "$root" /cudahost/src/build.sh /torchpe/lib/libtorchpe.so /cudahost/lib
  if [ "$root/torchpe/lib/libtorchpe.so" -nt "$work/ptx/index" ]; then
    rm -rf "$work/ptx"
    mkdir "$work/ptx"
    chroot "$root" sh -c 'cd /cudahost/ptx; for l in /torchpe/lib/libtorchpe.so /usr/lib/x86_64-linux-gnu/libtorch_cuda.so; do cuobjdump -xptx all $l >/dev/null; done'
    (cd "$work/ptx" && grep -o '\.entry [A-Za-z0-9_$]*' *.ptx >index)
  fi
  mountpoint -q "$root/proc" || { mount --bind /proc "$root/proc"; trap 'umount "$root/proc"' EXIT; }
}

interpreter() {
  chroot "$root" sh -c 'cd /cudahost/src/ptx && nvcc -O3 -std=c++17 -arch=sm_90 -ptx test_kernels.cu -o ../objects/test_kernels.ptx &&
    g++ -std=c++17 -O2 -ffp-contract=off test_ptx.cc ../objects/ptx/*.o -o ../objects/test_ptx && ../objects/test_ptx ../objects/test_kernels.ptx'
}

# tests PACKAGE PATTERN: as `go test` runs them, where their files lie
tests() {
  mkdir -p "$work/run/$1"
  go test -c -o "$work/$(basename "$1").test" "./$1"
  (cd "$1" && find . -type d -name testdata -exec cp -r --parents {} "$work/run/$1/" \;) # a test may read a neighbour's
  inside sh -c "cd /cudahost/run/$1 && /cudahost/$(basename "$1").test -test.timeout 60m -test.run '$2'"
}

# fault STATUS PATTERN ARGS: torchpe ARGS ends so, and says so
fault() {
  local want=$1 pattern=$2 status=0
  shift 2
  inside sh -c 'cd /cudahost/run && exec /cudahost/torchpe "$@"' torchpe "$@" >"$work/fault.log" 2>&1 || status=$?
  [ $status = "$want" ] && grep -qE "$pattern" "$work/fault.log" ||
    { tail -n 5 "$work/fault.log"; echo "test-cuda-host: torchpe $*: status $status, and not $want with \"$pattern\"" >&2; exit 1; }
}

faults() {
  rm -rf "$work/run/faults"
  local train=(train --preset quick --d-model 16 --layers 1 --batch 512 --epochs 2 --quiet --out)
  CUDAHOST_GPUS=0 fault 1 'has CUDA but finds no GPU' "${train[@]}" faults/none --device cuda
  CUDAHOST_GPUS=2 fault 1 'libtorch finds 2, numbered from 0' "${train[@]}" faults/index --device cuda:2
  CUDAHOST_MEMORY=20 fault 1 'out of memory.*' "${train[@]}" faults/memory --device cuda --d-model 512
  grep -q 'fewer --members or a smaller --batch' "$work/fault.log" || { echo "test-cuda-host: nothing says what would fit" >&2; exit 1; }
  CUDAHOST_LOSE=2000 fault 1 'the GPU failed.*--resume' "${train[@]}" faults/lost --device cuda
  fault 0 'learn' "${train[@]}" faults/lost --device cpu --resume
  CUDAHOST_LOSE=9000 CUDAHOST_COMPUTE=0 fault 1 '0 of 8 runs done' sweep table1 --seeds 1 --epochs 1 --device cuda --quiet --out faults/sweep
  [ "$(grep -cE '│ [0-9]+ .*│ device ' "$work/fault.log")" = 8 ] || { cat "$work/fault.log"; echo "test-cuda-host: a lost GPU was taken for something else" >&2; exit 1; }
  CUDAHOST_MEMORY=700 CUDAHOST_COMPUTE=0 fault 0 '16 of 16 runs done' sweep table1 --seeds 1,2 --epochs 1 --device cuda --quiet --out faults/split
  # Where recorded steps leave no room for an evaluation, they make it.
  rm -f "$work/room.log"
  CUDAHOST_LOG=/cudahost/room.log CUDAHOST_MEMORY=2600 CUDAHOST_COMPUTE=0 fault 0 'epoch 3/3' train --preset lst --epochs 3 --seeds "$(seq -s , 16)" --device cuda --out faults/room
  [ "$(grep -c '^graph ' "$work/room.log")" = 3 ] || { echo "test-cuda-host: an evaluation had room without asking for it: give it less memory" >&2; exit 1; }
}

prepare
go build -o "$work/torchpe" ./cmd/torchpe
if [ "${1:-}" = run ]; then
  inside sh -c 'cd /cudahost/run && exec /cudahost/torchpe "$@"' torchpe "${@:2}"
  exit
fi
interpreter
faults
tests torchpe GPU
CUDAHOST_COMPUTE=0 tests train TestGPUMemoryIsFlat
tests train TestGPUGraphEqualsEager & # the longest: 9 of 15 minutes
graphs=$!
tests train 'TestGPU[^GM]'
wait $graphs
echo "test-cuda-host: all passed"
