// kernels.h: the kernels of the libraries that are loaded, by the PTX that CUDAHOST_PTX holds.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>

namespace cudahost {

void register_kernel(const void* function, const char* name);
std::string kernel_name(const void* function);
// The launch as something to run later: parameters are copied now. Throws where the kernel's PTX is not known.
std::function<void()> prepare(const void* function, dim3 grid, dim3 block, void** args, size_t shared);
// Makes kernels ask before they read or write memory.
void check_addresses(bool (*valid)(uint64_t address, size_t bytes, bool write));

}  // namespace cudahost
