// memory.cc: allocations and copies. Which way a copy goes is told by where its ends lie.
#include "machine.h"

#include <sys/mman.h>

#include <cstring>

namespace cudahost {
namespace {

const Block* block_of(const void* p, size_t bytes) {
  auto& blocks = machine().blocks;
  auto at = blocks.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (at == blocks.begin()) return nullptr;
  --at;
  return reinterpret_cast<uintptr_t>(p) + bytes <= at->first + at->second.bytes ? &at->second : nullptr;
}

void* take(size_t bytes, int device) {
  const size_t whole = (bytes + 4095) / 4096 * 4096;
  void* p = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (device >= 0 && machine().computes && bytes <= size_t(256) << 20) std::memset(p, 0xFF, bytes);
  machine().blocks[reinterpret_cast<uintptr_t>(p)] = {bytes, device};
  return p;
}

cudaError_t give_back(void* p, bool host) {
  if (!p) return cudaSuccess;
  Machine& m = machine();
  auto at = m.blocks.find(reinterpret_cast<uintptr_t>(p));
  if (at == m.blocks.end() || (at->second.device < 0) != host) return fail(cudaErrorInvalidValue);
  for (size_t d = 0; d < m.devices.size(); d++) run_device(int(d));
  if (!host) m.devices[size_t(at->second.device)]->used -= at->second.bytes;
  munmap(p, (at->second.bytes + 4095) / 4096 * 4096);
  m.blocks.erase(at);
  return cudaSuccess;
}

const char* name_of(const Block* to, const Block* from) {
  const bool d = to && to->device >= 0, s = from && from->device >= 0;
  return d && s ? "copy on device" : d ? "copy to device" : s ? "copy to host" : "copy on host";
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const Block *b_to = block_of(to, bytes), *b_from = block_of(from, bytes);
  std::string text = std::string(name_of(b_to, b_from)) + (b_to && b_from ? "" : ", pageable");
  const bool recording = stream_of(stream).graph;
  if (recording && !(b_to && b_from)) return refuse(cudaErrorStreamCaptureUnsupported, text + " while a graph is recorded");
  if (!b_from) {  // pageable memory is read before the call returns
    auto held = std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
    return enqueue(stream, text, [=] { std::memcpy(to, held->data(), bytes); });
  }
  const cudaError_t e = enqueue(stream, text, [=] { std::memmove(to, from, bytes); });
  if (!b_to && e == cudaSuccess) run_until(stream_of(stream), 0);
  return machine().lost != cudaSuccess ? fail(machine().lost) : e;
}

}  // namespace

bool is_known(uint64_t address, size_t bytes, bool) { return block_of(reinterpret_cast<const void*>(address), bytes) != nullptr; }

}  // namespace cudahost

using namespace cudahost;

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaMalloc")) return e;
  m.counts["cudaMalloc"]++;
  Device& d = *m.devices.at(size_t(current));
  if (bytes == 0) return *p = nullptr, cudaSuccess;
  if (d.used + bytes > m.memory || !(*p = take(bytes, current))) return fail(cudaErrorMemoryAllocation);
  d.used += bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
  LOCK;
  if (!p) return cudaSuccess;
  if (const cudaError_t e = unsafe("cudaFree")) return e;
  return give_back(p, false);
}
cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaHostAlloc")) return e;
  m.counts["cudaHostAlloc"]++;
  return (*p = take(bytes ? bytes : 1, -1)) ? cudaSuccess : fail(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* p) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaFreeHost")) return e;
  return give_back(p, true);
}
cudaError_t cudaHostGetDevicePointer(void** d, void* h, unsigned) {
  *d = h;
  return cudaSuccess;
}
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  LOCK;
  m.blocks[reinterpret_cast<uintptr_t>(p)] = {bytes, -1};
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* p) {
  LOCK;
  m.blocks.erase(reinterpret_cast<uintptr_t>(p));
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  LOCK;
  *total = m.memory;
  *free = m.memory - m.devices.at(size_t(current))->used;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
  LOCK;
  *a = cudaPointerAttributes{};
  const Block* b = block_of(p, 1);
  a->type = !b ? cudaMemoryTypeUnregistered : b->device < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  a->device = b && b->device > 0 ? b->device : 0;
  a->devicePointer = b ? const_cast<void*>(p) : nullptr;
  a->hostPointer = b && b->device >= 0 ? nullptr : const_cast<void*>(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  LOCK;
  return copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaMemcpy")) return e;
  const cudaError_t e = copy(to, from, bytes, nullptr);
  run_device(current);
  return m.lost != cudaSuccess ? fail(m.lost) : e;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  LOCK;
  return copy(to, from, bytes, stream);
}
cudaError_t cudaMemsetAsync(void* p, int v, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, "memset", [=] { std::memset(p, v, bytes); });
}
cudaError_t cudaMemset(void* p, int v, size_t bytes) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaMemset")) return e;
  return cudaMemsetAsync(p, v, bytes, nullptr);
}

}  // extern "C"
