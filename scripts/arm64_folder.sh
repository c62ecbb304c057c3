#!/usr/bin/env bash
# Unpacks Debian's libtorch for 64-bit ARM and its dependencies into a folder, without installing them,
# and builds the shim for ARM against it: FOLDER/root and FOLDER/lib, with the packages of the files beside
# them. FOLDER/run runs an ARM program there, with an emulator if this machine has another processor.
# Needs no root once the packages are there.
#   scripts/arm64_folder.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(realpath "$1") root=$(realpath "$1")/root
scripts/setup.sh qemu-user-static g++-aarch64-linux-gnu
log=$folder/build.log
: >"$log"
run() {
  "$@" >>"$log" 2>&1 && return
  tail -n 30 "$log" >&2
  echo "arm64: failed: $* (whole log: $log)" >&2
  exit 1
}

if [ ! -e "$folder/.ready" ]; then
  echo "arm64: Debian's libtorch for ARM into $folder (1.2 GB)"
  rm -rf "$root" "$folder/apt" "$folder/files" "$folder/packages"
  mkdir -p "$root" "$folder"/apt/{lists,cache/archives}/partial
  : >"$folder/apt/status" # nothing is installed: all that libtorch needs is fetched
  cat >"$folder/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt/cache";
CONF
  run env APT_CONFIG="$folder/apt.conf" apt-get update -qq
  run env APT_CONFIG="$folder/apt.conf" apt-get install -y -qq --download-only libtorch-dev libopenblas0-pthread
  for package in "$folder"/apt/cache/archives/*.deb; do
    run dpkg-deb -x "$package" "$root"
    name=$(dpkg-deb -f "$package" Package)
    dpkg-deb --fsys-tarfile "$package" | tar -t | sed -n "s|^\.\(/.*[^/]\)\$|\1 $name|p" >>"$folder/files"
    dpkg-deb -W --showformat '${Package} ${Version} from source ${source:Package} ${source:Version}\n' "$package" \
      >>"$folder/packages"
  done
  # An installation would create these links.
  for library in libblas.so.3 liblapack.so.3 libopenblas.so.0; do
    ln -sf "openblas-pthread/$library" "$root/usr/lib/aarch64-linux-gnu/$library"
  done
  cat >"$folder/toolchain.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT "$root")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
CMAKE
  cat >"$folder/run" <<RUN
#!/bin/sh
exec qemu-aarch64-static -L "$root" -E "LD_LIBRARY_PATH=$folder/lib:/usr/lib/aarch64-linux-gnu" "\$@"
RUN
  chmod +x "$folder/run"
  touch "$folder/.ready"
fi
echo "arm64: the shim"
run cmake -S torchpe/internal/ctorch/shim -B "$folder/build" -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" \
  -DTORCHPE_LIB_DIR="$folder/lib" -DCMAKE_BUILD_TYPE=Release
run cmake --build "$folder/build" --target torchpe -j "$(nproc)"
