#!/usr/bin/env bash
# Builds a library with the symbols of another that its users need, without its code: calling one
# ends the program with a message.
#   scripts/dist/stub.sh LIBRARY OUT USER...
set -euo pipefail
library=$1 out=$2
shift 2
symbols() { nm -D "$@" 2>/dev/null; }
soname=$(basename "$out")
source=$(mktemp --suffix=.c)
trap 'rm -f "$source" "$source.map"' EXIT
{
  cat <<C
#include <stdlib.h>
#include <unistd.h>
static void left_out(void) {
  static const char text[] = "torchpe: libtorch called $soname, which this archive leaves out\n";
  if (write(2, text, sizeof text - 1)) abort();
  abort();
}
C
  # NAME@@VERSION in the library is NAME@VERSION in its users.
  awk -v map="$source.map" '
    NR == FNR { if (NF == 2) wanted[$2] = 1; next }
    { name = $NF; sub(/@@/, "@", name) }
    !(name in wanted) || name in done { next }
    {
      done[name]
      split(name, part, "@")
      if (part[2]) of[part[2]] = of[part[2]] part[1] "; "
      if ($(NF - 1) ~ /[TtWwi]/) printf "void %s(void) __attribute__((alias(\"left_out\")));\n", part[1]
      else printf "char %s[%d] __attribute__((aligned(64)));\n", part[1], $2
    }
    END { for (v in of) printf "%s { global: %s};\n", v, of[v] > map }
  ' <(symbols --undefined-only "$@") <(symbols -S -t d --defined-only "$library")
} >"$source"
map=()
[ ! -e "$source.map" ] || map=("-Wl,--version-script=$source.map")
"${CC:-gcc}" -shared -fPIC -fno-builtin -w -Os -Wl,-soname,"$soname" "${map[@]}" "$source" -o "$out"
