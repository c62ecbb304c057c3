#!/usr/bin/env bash
# Installs missing build requirements: a C++ compiler, CMake, and Debian's libtorch with
# OpenBLAS unless LIBTORCH names another. As root on Debian or Ubuntu it installs; otherwise it
# prints the command and fails. Safe to run again.
#   scripts/setup.sh [extra Debian packages]
set -euo pipefail

command -v go >/dev/null ||
  { echo "setup: Go 1.26 or newer is needed and not on PATH: see https://go.dev/dl" >&2; exit 1; }

missing=()
need() { # need COMMAND PACKAGE
  command -v "$1" >/dev/null || missing+=("$2")
}
need g++ g++
need cmake cmake
need make make
if [ -z "${LIBTORCH:-}" ] && [ ! -e /usr/include/torch/csrc/api/include/torch/torch.h ] &&
  [ ! -e /usr/include/torch/torch.h ]; then
  missing+=(libtorch-dev libopenblas0-pthread)
fi
for package in "$@"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "setup: installing ${missing[*]}"
  log=$(mktemp)
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: apt-get could not install ${missing[*]}" >&2
    exit 1
  fi
  rm -f "$log"
  exit 0
fi
echo "setup: missing: ${missing[*]}. Install them with" >&2
echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
echo "or, where libtorch lies elsewhere, set LIBTORCH=/path/to/libtorch" >&2
echo "(or LIBTORCH=python for an installed PyTorch)." >&2
exit 1
