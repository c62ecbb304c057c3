// cuda_emulated.cc: the GPU kernels as code for the CPU, for tests. See cuda_emulate.h.
#define TORCHPE_EMULATE
#include "cuda_kernels.cu"
