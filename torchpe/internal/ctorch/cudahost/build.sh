#!/bin/sh
# Builds the libraries of this folder, for a program on libtorchpe.so SHIM and a libtorch with CUDA 12, into the folder LIB:
#   build.sh SHIM LIB
# What those import of CUDA and is not played here answers with an error.
set -e
cd "$(dirname "$0")"
shim=$1 lib=$2
libtorch=$(dirname "$(ldd "$shim" | awk '/libtorch_cuda.so/ { print $3 }')")
mkdir -p "$lib" objects/ptx
{
  for f in "$shim" "$libtorch/libcaffe2_nvrtc.so" $(ldd "$shim" | awk '$3 ~ /^\// { print $3 }'); do nm -D --undefined-only "$f"; done | awk '{ print $2 }'
  strings -n 6 "$libtorch/libc10_cuda.so" | grep -E '^(cu[A-Z]|nvml)[A-Za-z0-9_]*$' # asked for by name
} >objects/wanted

# library NAME VERSION PATTERN ERROR SOURCES: what is wanted that matches PATTERN and is not in SOURCES answers ERROR. VERSION is that of
# its symbols, empty for none.
library() {
  name=$1 version=$2 pattern=$3 error=$4 objects= map=
  for source in $5; do
    object=objects/$source.o
    [ "$object" -nt "$source.cc" ] && [ -z "$(find . -name '*.h' -newer "$object")" ] ||
      g++ -std=c++17 -O2 -ffp-contract=off -fPIC -Wall -Wextra -c "$source.cc" -o "$object"
    objects="$objects $object"
  done
  { [ -z "$objects" ] || nm $objects; } | awk '$2 == "T" { print $3 }' | sort -u >objects/have
  grep -E "$pattern" objects/wanted | sed 's/@.*//' | sort -u | comm -23 - objects/have | sed "s/.*/int &(void) { return $error; }/" >objects/absent.c
  gcc -fPIC -c objects/absent.c -o objects/absent.o
  if [ -n "$version" ]; then
    echo "$version { global: cu*; __cuda*; _ZN8cudahost*; local: *; };" >objects/map
    map=-Wl,--version-script=objects/map
  fi
  g++ -shared $objects objects/absent.o $6 -o "$lib/$name" -Wl,-soname,"$name" $map
}
library libcudart.so.12 libcudart.so.12 '@libcudart.so' 801 "machine devices memory streams launch kernels $(ls ptx/*.cc | grep -v test_ | sed 's/\.cc$//')"
library libcublas.so.12 libcublas.so.12 '@libcublas.so' 15 blas "$lib/libcudart.so.12"
library libcublasLt.so.12 libcublasLt.so.12 '@libcublasLt.so' 15
library libcudnn.so.9 libcudnn.so.9 '^cudnn' 1
library libcuda.so.1 '' '^cu[A-Z]' 100 driver
library libnvidia-ml.so.1 '' '^nvml' 1 nvml
