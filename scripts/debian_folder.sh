#!/usr/bin/env bash
# Installs a release of Debian or Ubuntu with packages into a folder, or the missing parts, to check
# torchpe with other libraries than this machine's. Without packages the release is bare. Needs root.
# DEBIAN_MIRROR and UBUNTU_MIRROR name other mirrors.
#   scripts/debian_folder.sh FOLDER RELEASE COMPONENTS [PACKAGE...]     COMPONENTS such as main or main,contrib,non-free
set -euo pipefail
cd "$(dirname "$0")/.."
root=$1 release=$2 components=$3
shift 3
[ "$(id -u)" = 0 ] || { echo "debian_folder: debootstrap and chroot need root" >&2; exit 1; }
has_packages() { # whether the folder is there with all of them
  local p
  [ -e "$root/.ready" ] || return 1
  for p in "$@"; do
    [ "$(chroot "$root" dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || return 1
  done
}
has_packages "$@" && exit 0
case $release in
  # Debian's debootstrap may be older than a release of Ubuntu; its script gutsy works for all of them.
  jammy | noble) source="${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} gutsy" ;;
  *) source=${DEBIAN_MIRROR:-} ;;
esac
run() {
  "$@" >>"$root.log" 2>&1 && return
  tail -n 20 "$root.log" >&2
  echo "debian_folder: failed: $* (whole log: $root.log)" >&2
  exit 1
}
if [ ! -e "$root/.ready" ]; then
  scripts/setup.sh debootstrap
  echo "debian_folder: $release into $root"
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  : >"$root.log"
  run debootstrap --variant=minbase --components="$components" "$release" "$root" $source
  touch "$root/.ready"
fi
[ $# -gt 0 ] || exit 0
echo "debian_folder: $* into $root"
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
run chroot "$root" apt-get update -qq
# Debian's nvidia-cudnn downloads cuDNN from NVIDIA during set-up. Nothing here uses it, so its
# folder stays empty.
run chroot "$root" dpkg-divert --local --rename --add /usr/sbin/update-nvidia-cudnn
ln -sf /bin/true "$root/usr/sbin/update-nvidia-cudnn"
run chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
