#!/usr/bin/env bash
# Checks torchpe with libtorch 2.6: puts Debian 13 into a folder with debootstrap, builds the shim there, and runs there the
# test binaries that were built here. Needs root. The folder is kept for the next time (.build/trixie, 1.7 GB).
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "test-libtorch2: debootstrap and chroot need root" >&2; exit 1; }
scripts/setup.sh debootstrap
root="$PWD/${TORCHPE_TRIXIE:-.build/trixie}"

if [ ! -e "$root/.ready" ]; then
  echo "test-libtorch2: Debian 13 into $root"
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  debootstrap --variant=minbase trixie "$root" ${TORCHPE_DEBIAN_MIRROR:-} >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; exit 1; }
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
  chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libtorch-dev g++ cmake make libopenblas0-pthread' >>"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
  touch "$root/.ready"
fi

work="$root/torchpe"
rm -rf "$work/src" "$work/lib"
mkdir -p "$work/src" "$work/build" "$work/lib"
cp torchpe/internal/ctorch/shim/* "$work/src/"
echo "test-libtorch2: the shim against $(chroot "$root" dpkg-query -W -f '${Version}' libtorch-dev)"
chroot "$root" sh -c 'cmake -S /torchpe/src -B /torchpe/build -DTORCHPE_LIB_DIR=/torchpe/lib && cmake --build /torchpe/build -j $(nproc)' >"$work/build.log" 2>&1 ||
  { tail -n 30 "$work/build.log" >&2; exit 1; }

# Some tests read /proc.
if mount -t proc proc "$root/proc" 2>/dev/null; then
  trap 'umount "$root/proc"' EXIT
fi

# The program itself, as built here against this machine's libtorch.
go build -o "$work/bin/torchpe" ./cmd/torchpe
# The reference vectors of the encodings go in too; where there are none, their tests skip.
vectors="${TORCHPE_PE_VECTORS:-../shared/pe}"
rm -rf "$work/pe"
[ ! -d "$vectors" ] || cp -r "$vectors" "$work/pe"
inside() { chroot "$root" env LD_LIBRARY_PATH=/torchpe/lib HOME=/tmp TORCHPE_PE_VECTORS=/torchpe/pe "$@"; }
inside /torchpe/bin/torchpe doctor
for package in torchpe torchpe/internal/ctorch models models/pe train; do
  echo "test-libtorch2: $package"
  rm -rf "$work/test/$package"
  mkdir -p "$work/test/$package"
  go test -c -o "$work/test/$package/test" "./$package"
  # Some tests read the shim's header and fixtures beside them.
  for extra in testdata shim; do
    [ ! -d "$package/$extra" ] || cp -r "$package/$extra" "$work/test/$package/"
  done
  inside sh -c "cd /torchpe/test/$package && ./test -test.short"
done
inside /torchpe/bin/torchpe train --preset quick --limit-steps 20 --quiet --force --out /torchpe/run
