#!/usr/bin/env bash
# Builds the parts of scripts/gpu_check.sh that a machine without Go cannot build: the program and the
# test programs, stripped and compressed to .build/gpu.tgz. Copy the checkout with that file to the
# GPU's machine.
#   scripts/gpu_kit.sh [sources]        sources: only print the identifier of the programs' sources
set -euo pipefail
cd "$(dirname "$0")/.."
sources() { { find cmd data internal models report torchpe train -name '*.go'; ls torchpe/internal/ctorch/*.[chS]; } |
  LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1; }
[ "${1:-}" != sources ] || { sources; exit 0; }
kit=.build/gpu
mkdir -p "$kit"
go build -ldflags='-s -w' -buildvcs=auto -tags installed -o "$kit/torchpe" ./cmd/torchpe
for package in torchpe models models/pe train; do
  go test -c -ldflags='-s -w' -tags installed -o "$kit/${package//\//_}.test" "./$package"
done
sources >"$kit/sources"
tar -czf "$kit.tgz" -C "$kit" torchpe sources $(cd "$kit" && echo *.test)
du -sh "$kit" "$kit.tgz"
