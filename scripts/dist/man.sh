#!/usr/bin/env bash
# Writes the manual pages of a program and its commands from their --help.
#   scripts/dist/man.sh PROGRAM FOLDER
set -euo pipefail
program=$1 folder=$2
page() { # page SHORT COMMAND...
  local short=$1 name sub help
  shift
  name=$(IFS=-; echo "torchpe${*:+-$*}")
  help=$("$program" "$@" --help all)
  awk -v name="$name" -v short="$short" '
    BEGIN { printf ".TH \"%s\" 1\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", toupper(name), name, short }
    /^[A-Z][^.]*:$/ { sub(/:$/, ""); printf ".fi\n.SH %s\n.nf\n", toupper($0); next }
    { gsub(/\\/, "\\e"); gsub(/-/, "\\-"); sub(/^[.\047]/, "\\\\\\&&"); print }
  ' <<<"$help" >"$folder/$name.1"
  awk '/^Available Commands:/ { on = 1; next } on && !NF { exit } on && /^  [a-z]/' <<<"$help" |
    while read -r sub short; do
      [ "$sub" = help ] || page "$short" "$@" "$sub"
    done
}
page "train small transformers that differ in their positional encoding"
