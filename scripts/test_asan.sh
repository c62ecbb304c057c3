#!/usr/bin/env bash
# Runs the tests of internal/ctorch on a shim built with AddressSanitizer, which sees what a test cannot: reads and
# writes beside a tensor that happen to hurt nobody. Needs g++ with libasan; the first build takes minutes.
#   scripts/test_asan.sh [go test flags]        e.g. -run TestOddOperands -v
# libtorch itself is not built so: of its code, only the calls of malloc, free, memcpy and the like are watched.
set -euo pipefail
cd "$(dirname "$0")/.."

build="$PWD/.build/asan"
mkdir -p "$build"
cmake -S torchpe/internal/ctorch/shim -B "$build" -DTORCHPE_LIB_DIR="$build" -DCMAKE_BUILD_TYPE=None \
  -DCMAKE_CXX_FLAGS="-fsanitize=address -fno-omit-frame-pointer -g1" ${TORCHPE_CMAKE_FLAGS:-} >"$build/configure.log"
cmake --build "$build" --target torchpe -j "$(nproc)"

go test -c -o "$build/ctorch.test" ./torchpe/internal/ctorch
cd torchpe/internal/ctorch # the tests read shim/shim.h
# Go and libtorch keep memory until the process ends, so leaks are not looked for; absurd sizes must come back as
# errors, as they do without the sanitizer; and Go's own signal handlers stay.
LD_PRELOAD="$(g++ -print-file-name=libasan.so)" LD_LIBRARY_PATH="$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:detect_odr_violation=0:halt_on_error=1" \
  "$build/ctorch.test" -test.short "${@/#-run/-test.run}"
