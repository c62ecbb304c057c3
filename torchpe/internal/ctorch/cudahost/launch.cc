// launch.cc: launches of kernels.
#include "machine.h"

#include <unistd.h>

#include <cstdlib>

#include "kernels.h"

namespace cudahost {
namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  Machine& m = machine();
  const uint64_t n = ++m.counts["launches"];
  if (m.lose && n >= uint64_t(std::abs(m.lose))) {
    if (m.lose < 0)
      for (;;) pause();
    return fail(m.lost = cudaErrorECCUncorrectable);
  }
  const uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!threads || threads > 1024 || !grid.x || !grid.y || !grid.z || grid.y > 65535 || grid.z > 65535 || block.z > 64 || shared > 232448)
    return refuse(cudaErrorInvalidConfiguration, "launch of " + kernel_name(function));
  char size[96];
  std::snprintf(size, sizeof size, " <%u,%u,%u; %u,%u,%u; %zu>", grid.x, grid.y, grid.z, block.x, block.y, block.z, shared);
  try {
    return enqueue(stream, "kernel " + kernel_name(function) + size, m.computes ? prepare(function, grid, block, args, shared) : nullptr);
  } catch (const std::exception& e) {
    return refuse(cudaErrorInvalidDeviceFunction, e.what());
  }
}

}  // namespace
}  // namespace cudahost

using namespace cudahost;

extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* one;
  return &one;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) { register_kernel(host, name); }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return fail(cudaErrorMissingConfiguration);
  const Configuration c = configurations.back();
  configurations.pop_back();
  *grid = c.grid;
  *block = c.block;
  *shared = c.shared;
  *static_cast<cudaStream_t*>(stream) = c.stream;
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, size_t shared, cudaStream_t stream) {
  LOCK;
  return launch(function, grid, block, args, shared, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* function, void** args) {
  LOCK;
  return launch(function, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void*) {
  *a = cudaFuncAttributes{};
  a->maxThreadsPerBlock = 1024;
  a->numRegs = 32;
  a->binaryVersion = a->ptxVersion = 90;
  a->maxDynamicSharedSizeBytes = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void*, int block, size_t, unsigned) {
  *n = std::max(1, std::min(32, 2048 / std::max(1, block)));
  return cudaSuccess;
}

}  // extern "C"
