#!/usr/bin/env bash
# Runs the tests of the bindings on a shim built with AddressSanitizer, which detects what tests
# cannot: reads and writes outside a tensor without visible effects. Needs g++ with libasan; the
# first build takes minutes.
#   scripts/test_asan.sh [flags of a test program]        e.g. -test.run=TestOddOperands -test.v
# libtorch itself is not built with it: only its calls of malloc, free, memcpy and the like are
# checked.
set -euo pipefail
cd "$(dirname "$0")/.."

build="$PWD/.build/asan"
# CMake refuses a build folder that was moved or copied with its clone.
grep -qx "CMAKE_CACHEFILE_DIR:INTERNAL=$build" "$build/CMakeCache.txt" 2>/dev/null || rm -rf "$build"
mkdir -p "$build"
cmake -S torchpe/internal/ctorch/shim -B "$build" -DTORCHPE_LIB_DIR="$build" -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS="-fsanitize=address -fno-omit-frame-pointer -g1" ${TORCHPE_CMAKE_FLAGS:-} >"$build/configure.log"
cmake --build "$build" --target torchpe -j "$(nproc)"
go test -c -o "$build/ctorch.test" ./torchpe/internal/ctorch
go test -c -o "$build/torchpe.test" ./torchpe

# Go and libtorch keep memory until the process ends, so leaks are not looked for; absurd sizes must
# come back as errors, as they do without the sanitizer; and Go's own signal handlers stay.
export LD_PRELOAD LD_LIBRARY_PATH ASAN_OPTIONS
# libtorch is loaded by its first call; the sanitizer looks for what throws exceptions at the start.
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so.6)"
LD_LIBRARY_PATH="$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0:halt_on_error=1"
ASAN_OPTIONS+=":handle_segv=0:handle_sigbus=0:handle_sigfpe=0"
(cd torchpe/internal/ctorch && "$build/ctorch.test" -test.short "$@") # the tests read the headers of shim
# The sanitizer's own memory grows.
(cd torchpe && "$build/torchpe.test" -test.short -test.skip='KeepMemory|KeepsMemory' "$@")
