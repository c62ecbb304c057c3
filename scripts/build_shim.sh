#!/usr/bin/env bash
# Builds lib/libtorchpe.so, the only part of torchpe that is compiled against libtorch. Needs CMake
# and g++, but not Go. The first of these libtorch versions that exists is used:
#   LIBTORCH=/path     a libtorch or PyTorch folder (the one that holds share/cmake/Torch)
#   LIBTORCH=python    the PyTorch that python3 imports (PYTHON names another interpreter)
#   otherwise          the system's (Debian: libtorch-dev)
# To run a binary with another libtorch, only this script is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=""
case "${LIBTORCH:-}" in
  "") echo "shim: the system's libtorch" ;;
  python)
    prefix=$("${PYTHON:-python3}" -c 'import torch; print(torch.utils.cmake_prefix_path)') ||
      { echo "shim: LIBTORCH=python, but ${PYTHON:-python3} cannot import torch" >&2; exit 1; }
    echo "shim: the PyTorch of ${PYTHON:-python3}: $prefix" ;;
  *)
    [ -d "$LIBTORCH" ] || { echo "shim: LIBTORCH=$LIBTORCH is no folder" >&2; exit 1; }
    prefix=$LIBTORCH
    echo "shim: LIBTORCH=$LIBTORCH" ;;
esac

out="$PWD/lib"
# Each libtorch has its own build folder; the last one built is copied to lib/.
build="$PWD/.build/shim$(echo -n "$prefix" | cksum | cut -d' ' -f1)"
log="$build/build.log"
run() {
  "$@" >>"$log" 2>&1 && return
  tail -n 30 "$log" >&2
  echo "shim: failed: $* (whole log: $log)" >&2
  exit 1
}

# CMake refuses a build folder that was moved or copied with its clone: create it again.
made_at=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt" 2>/dev/null || true)
if [ -n "$made_at" ] && ! [ "$made_at" -ef "$build" ]; then
  echo "shim: $build was moved from $made_at: building anew"
  rm -rf "$build"
fi
mkdir -p "$build" "$out"
: >"$log"
generator=()
command -v make >/dev/null || generator=(-G Ninja)
run cmake "${generator[@]}" -S torchpe/internal/ctorch/shim -B "$build" -DTORCHPE_LIB_DIR="$build" \
  ${prefix:+-DCMAKE_PREFIX_PATH="$prefix"} -DCMAKE_BUILD_TYPE=Release ${TORCHPE_CMAKE_FLAGS:-}
run cmake --build "$build" --target torchpe -j "$(nproc)"
# Renamed into place: a running program keeps the library that it has loaded.
if ! cmp -s "$build/libtorchpe.so" "$out/libtorchpe.so"; then
  cp "$build/libtorchpe.so" "$out/.libtorchpe.so.new"
  mv -f "$out/.libtorchpe.so.new" "$out/libtorchpe.so"
fi
grep -h "torchpe: libtorch" "$log" | sed 's/^-- torchpe: /shim: built against /'

# A linker that drops libraries without a named symbol would drop libtorch_cuda, and with it all
# GPUs.
for library in libtorch.so libtorch_cpu.so libc10.so; do
  readelf -d "$out/libtorchpe.so" | grep -q "NEEDED.*\[$library" ||
    { echo "shim: $out/libtorchpe.so does not name $library: --no-as-needed had no effect" >&2; exit 1; }
done
root=$(sed -n 's/^-- torchpe: libtorch .* at //p' "$log" | tail -n 1)
ln -sfn "$root" third_party/libtorch
