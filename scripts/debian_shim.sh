#!/usr/bin/env bash
# Builds the shim in a folder of scripts/debian_folder.sh, against the libtorch there, as
# FOLDER/torchpe/lib/libtorchpe.so. Only changed files are compiled again.
#   scripts/debian_shim.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
root=$1 work=$1/torchpe
rm -rf "$work/src" "$work/lib"
mkdir -p "$work/src" "$work/build" "$work/lib"
cp -p torchpe/internal/ctorch/shim/* "$work/src/" # with their times, by which make knows what changed
chroot "$root" sh -c 'cmake -S /torchpe/src -B /torchpe/build -DTORCHPE_LIB_DIR=/torchpe/lib &&
  cmake --build /torchpe/build -j $(nproc)' >"$work/build.log" 2>&1 ||
  { tail -n 30 "$work/build.log" >&2; exit 1; }
