#!/usr/bin/env python3
"""Builds lib/libtorchpe.so against this interpreter's PyTorch without CMake: with g++, with nvcc
where there is one, and with the paths that torch.utils.cpp_extension names. For machines on which
find_package(Torch) fails; scripts/build_shim.sh is the ordinary way.

    python3 scripts/build_direct.py
"""
import glob
import inspect
import os
import platform
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.utils import cpp_extension

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "torchpe/internal/ctorch/shim")
BUILD = os.path.join(ROOT, ".build/direct")
LIBRARY = os.path.join(ROOT, "lib/libtorchpe.so")
# As in CMakeLists.txt: the loops of kernels.cc, once for each instruction set.
LOOPS = {"generic": "", "avx2": "-mavx2 -mfma",
         "avx512": "-mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512"}


def paths(function, cuda):
    """The folders that include_paths or library_paths of this PyTorch names."""
    newer = "device_type" in inspect.signature(function).parameters
    return function(device_type="cuda" if cuda else "cpu") if newer else function(cuda=cuda)


def library(name, folders):
    """The file of a CUDA library, which in a wheel is called libNAME.so.13, or what finds the system's."""
    found = [f for folder in folders for f in sorted(glob.glob("%s/lib%s.so*" % (folder, name)))]
    return found[0] if found else "-l" + name


class Machine:
    """What there is to build with and against."""

    def __init__(self):
        self.cuda = torch.version.cuda is not None and cpp_extension.CUDA_HOME is not None
        wheel = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia/*")
        self.includes = paths(cpp_extension.include_paths, self.cuda) + glob.glob(wheel + "/include")
        # The folder of CUDA 13's C++ library, which cuBLAS's header includes.
        self.includes += [i + "/cccl" for i in self.includes if os.path.isdir(i + "/cccl")]
        # CUDA's libraries beside a wheel are those it was built with: search them before the system's.
        first, *system = paths(cpp_extension.library_paths, self.cuda)
        self.folders = [first] + glob.glob(wheel + "/lib") + system
        nvcc = os.path.join(cpp_extension.CUDA_HOME or "", "bin/nvcc")
        self.nvcc = nvcc if self.cuda and os.path.exists(nvcc) else None
        self.x86 = platform.machine() in ("x86_64", "AMD64")
        self.version = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2] if n.isdigit())

    def flags(self):
        """Of g++ for a file that includes libtorch."""
        defines = ["_GLIBCXX_USE_CXX11_ABI=%d" % getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True)]
        defines += ["TORCHPE_X86_KERNELS"] * self.x86 + ["TORCHPE_CUDA_KERNELS"] * (self.nvcc is not None)
        # cuBLAS's headers come with the toolkit or with the wheel.
        defines += ["TORCHPE_CUDA", "TORCHPE_CUBLAS"] * self.cuda
        return (["-std=c++%d" % (20 if self.version >= (2, 12) else 17), "-O2", "-fPIC", "-fopenmp"] +
                ["-D" + d for d in defines] + [part for i in self.includes for part in ("-isystem", i)])

    def link(self, objects):
        torch_libraries = ["torch", "torch_cpu", "c10"] + ["torch_cuda", "c10_cuda"] * self.cuda
        return (["g++", "-shared", "-fopenmp", "-o", LIBRARY + ".new"] + objects +
                ["-L" + f for f in self.folders] + ["-Wl,-rpath," + f for f in self.folders] +
                ["-Wl,--no-as-needed"] + ["-l" + name for name in torch_libraries] +
                [library(name, self.folders) for name in ["cudart", "cublas"] * self.cuda] + ["-ldl"])


def commands(machine):
    """(command, object file) of every source."""
    flags, sources = machine.flags(), os.path.join(SOURCES, "")
    for file in sorted(glob.glob(sources + "*.cc")):
        name = os.path.basename(file)[:-len(".cc")]
        if name != "kernels":
            yield ["g++"] + flags + ["-c", file], name
    for isa, extra in LOOPS.items():
        if isa == "generic" or machine.x86:
            yield ["g++"] + flags + ["-O3", "-fno-math-errno", "-fno-trapping-math", "-DTORCHPE_ISA=" + isa,
                   *extra.split(), "-c", sources + "kernels.cc"], "kernels_" + isa
    if machine.nvcc:
        gpu = "%d%d" % (torch.cuda.get_device_capability() if torch.cuda.is_available() else (8, 0))
        yield [machine.nvcc, "-std=c++17", "-O3", "-Xcompiler", "-fPIC", "-gencode",
               "arch=compute_%s,code=[sm_%s,compute_%s]" % (gpu, gpu, gpu),
               "-c", sources + "cuda_kernels.cu"], "cuda_kernels"


def run(command):
    """Runs a command, prints it with what it says, and tells whether it succeeded."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(" ".join(map(shlex.quote, command)), done.stdout, sep="\n", flush=True)
    return done.returncode == 0


def main():
    machine = Machine()
    print("build_direct: libtorch %s, CUDA %s, nvcc %s" % (torch.__version__, torch.version.cuda, machine.nvcc))
    os.makedirs(BUILD, exist_ok=True)
    os.makedirs(os.path.dirname(LIBRARY), exist_ok=True)
    # The slowest first: nvcc's.
    jobs = [(command + ["-o", os.path.join(BUILD, name + ".o")]) for command, name in commands(machine)][::-1]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if not all(list(pool.map(run, jobs))) or not run(machine.link([job[-1] for job in jobs])):
            sys.exit("build_direct: failed, see above")
    os.replace(LIBRARY + ".new", LIBRARY)  # a running program keeps the library that it has loaded


if __name__ == "__main__":
    main()
