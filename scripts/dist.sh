#!/usr/bin/env bash
# Packs dist/torchpe-VERSION-linux-ARCH.tar.gz: the program, lib/libtorchpe.so and the libraries that
# it needs, with completions, manual pages and licences; beside it recipes for Docker and Apptainer.
# The C library and GCC's are those of the system on which it runs, which may be newer than this one:
# if shipped, they would shadow newer ones and require the C library of this system.
#
# Debian's libtorch is linked to readers of images, videos and databases for operators of Caffe2,
# and to network transports: 230 libraries that torchpe never calls. Each is replaced by a stub
# (scripts/dist/stub.sh).
#   [ARCH=arm64] scripts/dist.sh        ARCH: another processor than this machine's; libraries and licences
#                                       are then those of the folder of scripts/arm64_folder.sh
set -euo pipefail
cd "$(dirname "$0")/.."
command -v dpkg-query >/dev/null || { echo "dist: needs Debian or Ubuntu, whose packages name the licences" >&2; exit 1; }
scripts/setup.sh patchelf
arch=${ARCH:-$(dpkg --print-architecture)}
root= shim=$PWD/lib/libtorchpe.so run=() tools=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
  [ "$arch" = arm64 ] || { echo "dist: ARCH=$arch: this machine's, or arm64" >&2; exit 1; }
  folder=$PWD/.build/arm64
  scripts/arm64_folder.sh "$folder"
  root=$folder/root shim=$folder/lib/libtorchpe.so run=("$folder/run") tools=aarch64-linux-gnu-
  export GOARCH=arm64 CGO_ENABLED=1 CC="aarch64-linux-gnu-gcc --sysroot=$root"
fi
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' train/runlog/environment.go)
name=torchpe-$version-linux-$arch
work=.build/dist
into=$work/$name
stubbed='lib(opencv_.*|avcodec|avformat|avutil|swscale|swresample|leveldb|lmdb|snappy|zmq|OpenCL|gloo|tensorpipe)\.so.*'
system='(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so.*)'

rm -rf "$work"
mkdir -p "$into"/{bin,lib,licences/go} dist
go build -trimpath -tags installed -ldflags '-s -w' -o "$into/bin/torchpe" ./cmd/torchpe

declare -A found # the file of each library, by the name under which it is needed
if [ -n "$root" ]; then
  while read -r file; do found[${file##*/}]=$file; done < <(find "$root/lib" "$root/usr/lib" -name '*.so*' ! -type d)
else
  while read -r library _ file _; do
    [ "$file" != not ] || { echo "dist: $library, which lib/libtorchpe.so needs, is not here" >&2; exit 1; }
    found[${library##*/}]=$file
  done < <(ldd lib/libtorchpe.so)
fi
[ -n "$root" ] || [ -z "${found[libc10_cuda.so]:-}" ] ||
  { echo "dist: lib/libtorchpe.so is built against a libtorch with CUDA: make shim with one for the CPU" >&2; exit 1; }

licence_of() { # licence_of FILE: adds that of the package of a file of this system
  local file package
  file=$(realpath "$1")
  if [ -n "$root" ]; then
    package=$(awk -v file="${file#"$root"}" '$1 == file { print $2; exit }' "$folder/files")
  else
    package=$(dpkg -S "$file" "${file#/usr}" 2>/dev/null | sed -n '1s/:.*//p' || true)
  fi
  [ -n "$package" ] || { echo "dist: no package has $file, so its licence is unknown: use Debian's libtorch" >&2; exit 1; }
  [ ! -e "$into/licences/$package" ] || return 0
  cp "$root/usr/share/doc/$package/copyright" "$into/licences/$package"
  if [ -n "$root" ]; then
    grep "^$package " "$folder/packages" >>"$work/packages"
  else
    dpkg-query -W -f '${binary:Package} ${Version} from source ${source:Package} ${source:Version}\n' \
      "$package" >>"$work/packages"
  fi
}

needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }
queue=("$shim") # libraries whose needs are to be looked at
cp "$shim" "$into/lib/"
stubs=()
declare -A seen
for ((i = 0; i < ${#queue[@]}; i++)); do
  while read -r library; do
    [ -z "${seen[$library]:-}" ] && ! [[ $library =~ ^$system$ ]] || continue
    seen[$library]=1
    if [[ $library =~ ^$stubbed$ ]]; then
      stubs+=("$library")
      continue
    fi
    cp -L "${found[$library]}" "$into/lib/$library"
    licence_of "${found[$library]}"
    queue+=("${found[$library]}")
  done < <(needs "${queue[i]}")
done
for library in "${stubs[@]}"; do
  CC=${tools}gcc scripts/dist/stub.sh "${found[$library]}" "$into/lib/$library" "${queue[@]}"
done
for library in "$into"/lib/*; do
  "${tools}strip" --strip-unneeded "$library"
  if readelf -d "$library" | grep -qE '\((RPATH|RUNPATH)\)'; then
    patchelf --remove-rpath "$library"
  fi
done
# DT_RPATH instead of DT_RUNPATH: it also applies to dependencies of libraries, before LD_LIBRARY_PATH.
# The program has DT_RUNPATH, so that another libtorchpe.so uses its own libtorch.
patchelf --force-rpath --set-rpath '$ORIGIN' "$into/lib/libtorchpe.so"

share=$into/share
mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
program=$into/bin/torchpe
"${run[@]}" "$program" completion bash >"$share/bash-completion/completions/torchpe"
"${run[@]}" "$program" completion zsh >"$share/zsh/site-functions/_torchpe"
"${run[@]}" "$program" completion fish >"$share/fish/vendor_completions.d/torchpe.fish"

cp LICENSE "$into/licences/torchpe"
sort -o "$into/licences/PACKAGES" "$work/packages"
# Debian's copyright files name these by their place.
grep -rhoE '/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$into/licences" | sort -u | while read -r file; do
  [ ! -e "$file" ] || cp -L "$file" "$into/licences/"
done
cp "$(go env GOROOT)/LICENSE" "$into/licences/go/LICENSE"
go list -deps -tags installed -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/torchpe |
  sort -u | while read -r module dir; do
  mkdir -p "$into/licences/go/$module"
  find "$dir" -maxdepth 1 -regextype egrep -iregex '.*/(un)?(licen[sc]e|copying|notice)[^/]*' \
    -exec cp -r --no-preserve=mode -t "$into/licences/go/$module" {} +
  [ -n "$(ls "$into/licences/go/$module")" ] || { echo "dist: $dir has no licence" >&2; exit 1; }
done

for file in README.md Dockerfile torchpe.def; do sed "s/VERSION/$version/g; s/ARCH/$arch/g" "scripts/dist/$file" >"$work/$file"; done
cp "$work/README.md" "$into/"
cp "$work/Dockerfile" "$work/torchpe.def" dist/
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w,+rX -cf - "$name" |
  gzip -9 >"dist/$name.tar.gz"
du -sh "$into" "dist/$name.tar.gz"
