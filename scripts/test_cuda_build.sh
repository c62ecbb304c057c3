#!/usr/bin/env bash
# Checks, without a GPU, that the shim with its CUDA kernels compiles and links: with nvcc 12.4
# against libtorch 2.6 (CUDA) of Debian 13, in a folder (.build/trixie-cuda, 7.5 GB). Fails if a
# kernel spills more than a few registers. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
root="$PWD/.build/trixie-cuda"
scripts/debian_folder.sh "$root" trixie main,contrib,non-free libtorch-cuda-dev \
  nvidia-cuda-toolkit g++ cmake make libopenblas0-pthread

work="$root/torchpe"
version() { chroot "$root" dpkg-query -W -f '${Version}' "$1"; }
echo "test-cuda-build: libtorch $(version libtorch-cuda-dev), nvcc $(version nvidia-cuda-toolkit)"
scripts/debian_shim.sh "$root"
for library in libtorch_cuda libc10_cuda libcudart; do
  readelf -d "$work/lib/libtorchpe.so" | grep -q "NEEDED.*\[$library" ||
    { echo "test-cuda-build: libtorchpe.so does not name $library" >&2; exit 1; }
done
for gpu in sm_80 sm_90; do
  chroot "$root" nvcc -std=c++17 -O3 -arch=$gpu -Xptxas -v -c -o /dev/null \
    /torchpe/src/cuda_kernels.cu >"$work/$gpu.log" 2>&1 || { cat "$work/$gpu.log" >&2; exit 1; }
  awk -v gpu=$gpu '/Compiling entry function/ { float32 = $0 !~ /kernelId/ } # those of float64 are there for checks
    !float32 { next }
    match($0, /[0-9]+ bytes spill stores/) { n++; bytes = substr($0, RSTART) + 0; if (bytes > spilled) spilled = bytes }
    match($0, /Used [0-9]+/) { r = substr($0, RSTART + 5, RLENGTH - 5) + 0; if (r > most) most = r }
    END {
      printf "test-cuda-build: %s: %d kernels of float32, at most %d registers ", gpu, n, most
      printf "and %d spilled bytes a thread\n", spilled
      exit !n || spilled > 16
    }' "$work/$gpu.log"
done
