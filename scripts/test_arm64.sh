#!/usr/bin/env bash
# Checks torchpe on 64-bit ARM, on a machine with another processor: builds shim and program for ARM,
# runs tests and the reference vectors of the encodings in an emulator, and trains two epochs, one of them
# interrupted by a kill; the numbers must be those of this machine. Times have no meaning there.
# The folder is kept for the next run (.build/arm64, 1.2 GB).
#   scripts/test_arm64.sh
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.build/arm64
scripts/arm64_folder.sh "$folder"
arm() {
  GOOS=linux GOARCH=arm64 CGO_ENABLED=1 CC="aarch64-linux-gnu-gcc --sysroot=$folder/root" "$@"
}
echo "arm64: the program"
go build -o bin/torchpe ./cmd/torchpe
arm go build -o "$folder/bin/torchpe" ./cmd/torchpe
"$folder/run" "$folder/bin/torchpe" doctor

work=$folder/work
rm -rf "$work"
mkdir -p "$work"/{bin,lib}
# A program starts without the library, and its first computation loads it.
arm go build -tags installed -o "$work/bin/first" ./torchpe/internal/ctorch/testdata/first
"$folder/run" "$work/bin/first"
if said=$(qemu-aarch64-static -L "$folder/root" "$work/bin/first" compute 2>&1); then exit 1; fi
grep -q "torchpe: libtorchpe.so: cannot open shared object file" <<<"$said"
ln -s "$folder/lib/libtorchpe.so" "$work/lib"
test "$("$folder/run" "$work/bin/first" compute)" = "[2.5 2.5] <nil>"
echo "arm64: the first computation loads the library"

bin/torchpe data lst generate --train 900 --validation 12 --out "$work/puzzles"
settings=(train --preset quick --lst "$work/puzzles" --layers 2 --d-model 32 --epochs 2 --threads 1 --dtype float64
  --checkpoint-every 1s --log-every 1 --quiet)
bin/torchpe "${settings[@]}" --out "$work/here"
"$folder/run" "$folder/bin/torchpe" "${settings[@]}" --out "$work/there" &
training=$!
until [ -s "$work/there/metrics.jsonl" ]; do
  kill -0 "$training"
  sleep 1
done
kill -9 "$training"
wait "$training" || true
"$folder/run" "$folder/bin/torchpe" train --resume --quiet --out "$work/there"
numbers() { # loss and norm of the learned tables of each record
  sed -n 's/.*"loss":\([0-9.e-]*\).*"pe_norm":\([0-9.e-]*\).*/\1\n\2/p' "$1/metrics.jsonl"
}
paste <(numbers "$work/here") <(numbers "$work/there") | awk '
  { apart = ($1 - $2) / $1; if (apart < 0) apart = -apart; if (apart > most) most = apart }
  END { printf "arm64: %d losses and norms of two epochs differ by %.1e at most, in float64\n", NR, most
        exit !(NR == 4 && most < 1e-9) }'

# Not run: tests that start a program, which would bypass the emulator, and one over all combinations of
# operands, which takes an hour.
for package in torchpe/internal/ctorch torchpe models; do
  echo "arm64: tests of $package"
  arm go test -short -timeout 120m -exec "$folder/run" -skip 'FailingAllocations|LoadedByFirstCall|OddOperands' "./$package"
done
echo "arm64: reference vectors of the encodings"
arm go test -timeout 120m -exec "$folder/run" -run 'Vectors|Stack|Layers' ./models/pe

echo "arm64: the archive, where there are the C library and GCC's alone"
ARCH=arm64 scripts/dist.sh
bare=$folder/bare archive=$(ls -t dist/torchpe-*-linux-arm64.tar.gz | head -n 1)
rm -rf "$bare"
mkdir -p "$bare"
for package in libc6 libgcc-s1 libstdc++6; do dpkg-deb -x "$folder"/apt/cache/archives/${package}_*.deb "$bare"; done
tar -xzf "$archive" -C "$bare"
alone() { qemu-aarch64-static -L "$bare" "$bare/$(basename "$archive" .tar.gz)/bin/torchpe" "$@"; }
alone doctor
alone train --preset quick --d-model 16 --layers 1 --limit-steps 3 --threads 1 --quiet --out "$work/bare"
