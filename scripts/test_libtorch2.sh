#!/usr/bin/env bash
# Checks torchpe with a newer libtorch: installs a newer Debian into a folder with debootstrap, builds
# the shim there, and runs the test binaries that were built here. Needs root. The folder is
# kept for the next run (.build/RELEASE, 1.7 GB).
#   [RELEASE=trixie] scripts/test_libtorch2.sh        trixie: libtorch 2.6; sid: 2.14 in November 2026
set -euo pipefail
cd "$(dirname "$0")/.."
release=${RELEASE:-trixie}
root="$PWD/.build/$release"

scripts/debian_folder.sh "$root" "$release" main libtorch-dev g++ cmake make libopenblas0-pthread

work="$root/torchpe"
echo "test-libtorch2: the shim against $(chroot "$root" dpkg-query -W -f '${Version}' libtorch-dev)"
scripts/debian_shim.sh "$root"

# Some tests read /proc.
if mount -t proc proc "$root/proc" 2>/dev/null; then
  trap 'umount "$root/proc"' EXIT
fi

# The program itself, as built here against this machine's libtorch.
go build -o "$work/bin/torchpe" ./cmd/torchpe
# Folders of reference vectors of the encodings are copied too; without them, the shipped ones are read.
vectors="${TORCHPE_PE_VECTORS:-../shared/pe:../shared/pe-new}"
rm -rf "$work"/pe[0-9]*
inside_vectors=
while read -r folder; do
  [ -d "$folder" ] || continue
  number=$((${number:-0} + 1))
  cp -r "$folder" "$work/pe$number"
  inside_vectors+="${inside_vectors:+:}/torchpe/pe$number"
done <<<"${vectors//:/$'\n'}"
inside() {
  chroot "$root" env LD_LIBRARY_PATH=/torchpe/lib HOME=/tmp "TORCHPE_PE_VECTORS=$inside_vectors" "$@"
}
inside /torchpe/bin/torchpe doctor
mkdir -p "$work/test/data/nmar"
cp -r data/nmar/testdata "$work/test/data/nmar/" # tests of package train read it
for package in torchpe torchpe/internal/ctorch models models/pe train; do
  echo "test-libtorch2: $package"
  rm -rf "$work/test/$package"
  mkdir -p "$work/test/$package"
  go test -c -o "$work/test/$package/test" "./$package"
  # Some tests read headers, fixtures and a decoder below them.
  for extra in testdata shim runlog/testdata; do
    [ ! -d "$package/$extra" ] || { mkdir -p "$work/test/$package/$extra" &&
      cp -r "$package/$extra/." "$work/test/$package/$extra/"; }
  done
  cp "$package"/*.h "$work/test/$package/" 2>/dev/null || true
  inside sh -c "cd /torchpe/test/$package && ./test -test.short"
done
inside /torchpe/bin/torchpe train --preset quick --limit-steps 20 --quiet --force --out /torchpe/run
