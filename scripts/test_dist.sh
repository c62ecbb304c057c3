#!/usr/bin/env bash
# Runs the archive of `make dist` in bare Debian 12 and 13 and Ubuntu 22.04 and 24.04, as a user
# without privileges, in a path with spaces: doctor, a short demo, a few training steps. Of all loaded
# libraries, only the C library and GCC's may be the system's. Debian 12 also runs the commands of the
# recipes. Needs root. The folders are kept for the next run (.build/RELEASE-bare, 0.2 GB each).
#   scripts/test_dist.sh [RELEASE...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- bookworm trixie jammy noble
archive=$(ls -t dist/torchpe-*.tar.gz | head -n 1)
name=$(basename "$archive" .tar.gz)

die() { echo "test-dist: $release: $*" >&2; exit 1; }

# as_user COMMAND...: in the folder, without privileges and without the environment of this machine
as_user() { chroot --userspec=65534:65534 "$root" env -i HOME=/tmp PATH=/usr/bin:/bin "$@"; }

recipes() {
  local command
  rm -rf "$root/opt/$name" "$root/usr/local/bin/torchpe"
  tar -xzf "$archive" -C "$root/opt"
  sed -n 's/^RUN //p' dist/Dockerfile | chroot "$root" sh -e
  as_user /usr/local/bin/torchpe doctor >/dev/null || die "the Dockerfile's torchpe does not run"
  rm -rf "$root/opt/$name" "$root/usr/local/bin/torchpe"
  cp "$archive" "$root/opt/torchpe.tar.gz"
  sed -n '/^%post/,/^%runscript/{/^%/d;p}' dist/torchpe.def | chroot "$root" sh -e
  command=$(sed -n '/^%runscript/,$ {/^%/d;p}' dist/torchpe.def)
  as_user PATH=/usr/local/bin:/usr/bin:/bin sh -c "$command" torchpe doctor >/dev/null ||
    die "the Apptainer recipe's torchpe does not run"
  rm -rf "$root/opt/$name" "$root/usr/local/bin/torchpe"
}

check() {
  local home="/home/a user/torchpe" said loaded
  rm -rf "$root/home/a user"
  mkdir -p "$root$home"
  tar -xzf "$archive" -C "$root$home"
  chown 65534:65534 "$root$home"
  local program="$home/$name/bin/torchpe"
  said=$(as_user "$program" doctor) || die "doctor exits $?"
  grep -qx 'problems   none' <<<"$said" || die "doctor has problems:"$'\n'"$said"

  loaded=$(as_user LD_DEBUG=libs "$program" doctor 2>&1 | sed -n 's/.*calling init: //p' | sort -u)
  grep -q "^$home/$name/bin/../lib/libtorch_cpu" <<<"$loaded" || die "libtorch is not the archive's:"$'\n'"$loaded"
  loaded=$(grep -vE "^$home/$name/bin/../lib/|/(ld-linux-x86-64|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so\.[0-9]$" \
    <<<"$loaded") && die "these libraries are not the archive's:"$'\n'"$loaded"

  as_user sh -ec "cd '$home'
    '$program' demo --epochs 1 --out 'a demo' >demo.log 2>&1 || { cat demo.log >&2; exit 1; }
    test -s 'a demo/accuracy.pdf'
    '$program' train --task fmri --surrogate subjects=3,frames=60 --d-model 16 --layers 1 --batch 8 \
      --threads 1 --limit-steps 3 --quiet --out run >train.log 2>&1 || { cat train.log >&2; exit 1; }
    bash -n '$home/$name/share/bash-completion/completions/torchpe'" || die "a command failed"
  echo "test-dist: $release: doctor, demo and training run"
  rm -rf "$root/home/a user"
}

# With another libtorchpe.so, here that of this checkout, nothing else comes from the archive.
shim_put_in() {
  local folder
  folder=$(mktemp -d)
  tar -xzf "$archive" -C "$folder"
  cp lib/libtorchpe.so "$folder/$name/lib/"
  ! LD_DEBUG=libs "$folder/$name/bin/torchpe" doctor 2>&1 | sed -n 's/.*calling init: //p' |
    grep "$folder" | grep -v '/libtorchpe\.so$' ||
    { echo "test-dist: another libtorchpe.so loads these libraries of the archive" >&2; exit 1; }
  rm -rf "$folder"
}
shim_put_in

for release; do
  root="$PWD/.build/$release-bare"
  scripts/debian_folder.sh "$root" "$release" main
  mount -t proc proc "$root/proc" # by which a program finds the libraries beside it
  trap 'umount "$root/proc"' EXIT
  check
  [ "$release" != bookworm ] || recipes
  umount "$root/proc"
  trap - EXIT
done
