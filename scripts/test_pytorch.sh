#!/usr/bin/env bash
# Compares exported models with the PyTorch of a Debian release, in a folder: trixie has 2.6.
#   [RELEASE=trixie] scripts/test_pytorch.sh [go test's flags]
set -euo pipefail
cd "$(dirname "$0")/.."
release=${RELEASE:-trixie}
root="$PWD/.build/$release-pytorch"
scripts/debian_folder.sh "$root" "$release" main python3-torch
# The same paths lead to the test's files inside and outside.
mkdir -p "$root$PWD/.build" "$root/testdata"
ln -sfn / "$root$root"
cp models/export/testdata/*.py "$root/testdata/"
printf '#!/bin/sh\nUCX_LOG_LEVEL=fatal exec chroot %s python3 "$@"\n' "$root" >"$root/interpreter"
chmod +x "$root/interpreter"
"$root/interpreter" -c 'import torch; print("PyTorch", torch.__version__)'
TMPDIR="$root/tmp" TORCHPE_PYTHON="$root/interpreter" go test ./models/export -count=1 -v -run PyTorch "$@"
