// runtime.cc: a libcudart.so that needs no GPU. It is for tests of the calls that a program makes, through libtorch's real CUDA
// library: memory is the host's, kernels are read from their PTX and interpreted (kernels.cc), and the rules of streams and
// of recording a graph are kept more strictly than a GPU keeps them:
//   * work of a stream runs as late as it may: when somebody waits for it. Who reads too early, or changes what a copy is
//     still to read, sees wrong numbers;
//   * memory starts as NaN, or where kernels compute nothing as 0;
//   * while a graph is recorded, a call that CUDA forbids then ends the recording, and work that goes past it is an error.
//
//   CUDAHOST_GPUS     how many GPUs there are (1)
//   CUDAHOST_MEMORY   MiB each of them has (4096)
//   CUDAHOST_LOG      a file that gets each graph with its nodes, and the number of calls so far now and then
//   CUDAHOST_COMPUTE  0: kernels compute nothing
//   CUDAHOST_LOSE     N: the GPU is lost at the Nth launch. -N: from then on it does not answer any more
#include "device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels.h"

using Work = std::function<void()>;

struct CUgraph_st {
  struct Node {
    std::string text;
    Work work;
  };
  std::vector<Node> nodes;
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool spoilt = false;
};

struct CUgraphExec_st {
  std::vector<CUgraph_st::Node> nodes;
};

struct CUstream_st {
  int device = 0;
  CUgraph_st* graph = nullptr;  // being recorded
  struct Item {
    std::string text;
    Work work;                // none: an event
    cudaEvent_t event = nullptr;
    cudaEvent_t wait = nullptr;
    uint64_t turn = 0;        // of the event
  };
  std::deque<Item> items;
  bool running = false;
};

struct CUevent_st {
  CUgraph_st* graph = nullptr;  // the recording that it was recorded in
  cudaStream_t stream = nullptr;
  uint64_t recorded = 0, done = 0;
  std::chrono::steady_clock::time_point time;
};

namespace cudahost {
namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* s = std::getenv(name);
  return s && *s ? std::atoll(s) : otherwise;
}

struct Device {
  CUstream_st all;  // the default stream
  size_t used = 0;
};

struct Block {
  size_t bytes;
  int device;  // -1: the host's
};

bool is_known(uint64_t address, size_t bytes, bool write);

struct Machine {
  Machine() {
    if (const char* path = std::getenv("CUDAHOST_LOG")) log = std::fopen(path, "a");
    const int gpus = int(setting("CUDAHOST_GPUS", 1));
    // CUDA_VISIBLE_DEVICES as far as tests need it: a list of numbers, of which the first that is not there ends it.
    std::vector<int> visible;
    if (const char* s = std::getenv("CUDA_VISIBLE_DEVICES")) {
      for (char* end; *s; s = *end == ',' ? end + 1 : end) {
        const long n = std::strtol(s, &end, 10);
        if (end == s || n < 0 || n >= gpus) break;
        visible.push_back(int(n));
      }
    } else {
      for (int i = 0; i < gpus; i++) visible.push_back(i);
    }
    for (size_t i = 0; i < visible.size(); i++) {
      devices.push_back(std::make_unique<Device>());
      devices.back()->all.device = int(i);
    }
    memory = size_t(setting("CUDAHOST_MEMORY", 4096)) << 20;
    lose = setting("CUDAHOST_LOSE", 0);
    computes = setting("CUDAHOST_COMPUTE", 1) != 0;
    check_addresses(is_known);
  }
  std::recursive_mutex mutex;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<cudaStream_t> streams;
  std::map<uintptr_t, Block> blocks;  // by their first byte
  std::vector<CUgraph_st*> recordings;
  size_t memory = 0;
  int64_t lose = 0;
  bool computes = true;
  cudaError_t lost = cudaSuccess;
  unsigned long long graphs = 0;
  std::map<std::string, uint64_t> counts;
  uint64_t refused = 0;
  FILE* log = nullptr;
};

Machine& machine() {
  static Machine* m = new Machine();
  return *m;
}

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStreamCaptureMode own_mode = cudaStreamCaptureModeGlobal;

// Writes the totals so far. Programs end in many ways, so it is done now and then.
void write_totals() {
  Machine& m = machine();
  if (!m.log) return;
  for (auto& c : m.counts) std::fprintf(m.log, "total %llu %s\n", (unsigned long long)c.second, c.first.c_str());
  std::fprintf(m.log, "refused %llu\n", (unsigned long long)m.refused);
  std::fflush(m.log);
}

cudaError_t fail(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}

#define LOCK                                             \
  Machine& m = machine();                                \
  std::lock_guard<std::recursive_mutex> lock(m.mutex);   \
  if (m.lost != cudaSuccess) return fail(m.lost)

CUstream_st& stream_of(cudaStream_t s) {
  // null, legacy and per-thread are the default stream here
  if (reinterpret_cast<uintptr_t>(s) < 16) return machine().devices.at(size_t(current))->all;
  return *s;
}

void run_until(CUstream_st& s, size_t leave);

void run_item(CUstream_st& s) {
  Machine& m = machine();
  CUstream_st::Item item = std::move(s.items.front());
  s.items.pop_front();
  if (item.wait) {
    CUevent_st& e = *item.wait;
    while (e.done < item.turn && e.stream && !e.stream->items.empty() && !e.stream->running) run_until(*e.stream, e.stream->items.size() - 1);
  } else if (item.event) {
    item.event->done = std::max(item.event->done, item.turn);
    item.event->time = std::chrono::steady_clock::now();
  } else {
    try {
      item.work();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "cudahost: %s: %s\n", item.text.c_str(), e.what());
      m.refused++;
      m.lost = cudaErrorLaunchFailure;
    }
  }
}

// Runs what the stream holds but for the last `leave`.
void run_until(CUstream_st& s, size_t leave) {
  if (s.running) return;
  s.running = true;
  while (s.items.size() > leave) run_item(s);
  s.running = false;
}

void run_device(int device) {
  Machine& m = machine();
  run_until(m.devices[size_t(device)]->all, 0);
  for (auto s : m.streams)
    if (s->device == device) run_until(*s, 0);
}

// Whether the thread may make a call that is unsafe while somebody records.
cudaError_t unsafe(const char* what) {
  for (auto g : machine().recordings) {
    const bool mine = g->thread == std::this_thread::get_id();
    const bool hit = own_mode == cudaStreamCaptureModeRelaxed || g->mode == cudaStreamCaptureModeRelaxed
                         ? false
                         : mine || (g->mode == cudaStreamCaptureModeGlobal && own_mode == cudaStreamCaptureModeGlobal);
    if (!hit) continue;
    g->spoilt = true;
    return refuse(cudaErrorStreamCaptureUnsupported, std::string(what) + " while a graph is recorded" + (mine ? "" : " by another thread"));
  }
  return cudaSuccess;
}

const Block* block_of(const void* p, size_t bytes) {
  auto& blocks = machine().blocks;
  auto at = blocks.upper_bound(reinterpret_cast<uintptr_t>(p));
  if (at == blocks.begin()) return nullptr;
  --at;
  return reinterpret_cast<uintptr_t>(p) + bytes <= at->first + at->second.bytes ? &at->second : nullptr;
}

bool is_known(uint64_t address, size_t bytes, bool) { return block_of(reinterpret_cast<const void*>(address), bytes) != nullptr; }

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

const char* name_of(cudaMemcpyKind kind, const Block* to, const Block* from) {
  (void)kind;
  const bool d = to && to->device >= 0, s = from && from->device >= 0;
  return d && s ? "copy on device" : d ? "copy to device" : s ? "copy to host" : "copy on host";
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  const Block *b_to = block_of(to, bytes), *b_from = block_of(from, bytes);
  std::string text = std::string(name_of(kind, b_to, b_from)) + (b_to && b_from ? "" : ", pageable");
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

cudaError_t refuse(cudaError_t error, const std::string& why) {
  machine().refused++;
  std::fprintf(stderr, "cudahost: %s\n", why.c_str());
  return fail(error);
}

cudaError_t enqueue(cudaStream_t stream, std::string text, Work work) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  const bool product_or_kernel = text[0] == 'g' || text[0] == 'k';
  if (product_or_kernel && !m.computes) work = nullptr;
  m.counts[(s.graph ? "recorded: " : "") + text.substr(0, text.find(" <"))]++;
  if (s.graph) {
    s.graph->nodes.push_back({std::move(text), std::move(work)});
    return cudaSuccess;
  }
  for (auto g : m.recordings)
    if (own_mode != cudaStreamCaptureModeRelaxed) {
      g->spoilt = true;
      return refuse(cudaErrorStreamCaptureIsolation, text + ": goes past the graph that is recorded");
    }
  if (work) s.items.push_back({std::move(text), std::move(work)});
  return cudaSuccess;
}

}  // namespace cudahost

using namespace cudahost;

extern "C" {

// ---- devices ----

cudaError_t cudaGetDeviceCount(int* n) {
  *n = int(machine().devices.size());
  return *n ? cudaSuccess : fail(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int* d) {
  *d = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
  if (d < 0 || size_t(d) >= machine().devices.size()) return fail(cudaErrorInvalidDevice);
  current = d;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* v) {
  *v = 12040;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
  *v = 12040;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* p, int d) {
  if (d < 0 || size_t(d) >= machine().devices.size()) return fail(cudaErrorInvalidDevice);
  *p = cudaDeviceProp{};
  std::snprintf(p->name, sizeof p->name, "CUDA on the host %d", d);
  p->major = 9;
  p->totalGlobalMem = machine().memory;
  p->multiProcessorCount = 132;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxBlocksPerMultiProcessor = 32;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = 227 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->l2CacheSize = 50 << 20;
  p->textureAlignment = 512;
  p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = p->canMapHostMemory = p->concurrentKernels = 1;
  p->clockRate = 1980000;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int d) {
  cudaDeviceProp p;
  const cudaError_t e = cudaGetDeviceProperties_v2(&p, d);
  if (e != cudaSuccess) return e;
  switch (a) {
    case cudaDevAttrComputeCapabilityMajor: *v = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *v = p.minor; break;
    case cudaDevAttrMultiProcessorCount: *v = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerBlock: *v = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *v = int(p.sharedMemPerBlock); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = int(p.sharedMemPerBlockOptin); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = int(p.sharedMemPerMultiprocessor); break;
    case cudaDevAttrMaxGridDimX: *v = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *v = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *v = p.maxGridSize[2]; break;
    case cudaDevAttrMaxBlockDimX: *v = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *v = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *v = p.maxThreadsDim[2]; break;
    case cudaDevAttrWarpSize: *v = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: *v = p.regsPerBlock; break;
    default: *v = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* v, int, int) {
  *v = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return fail(cudaErrorPeerAccessUnsupported); }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  LOCK;
  if (const cudaError_t e = unsafe("cudaDeviceSynchronize")) return e;
  run_device(current);
  write_totals();
  return fail(m.lost);
}

// ---- errors ----

cudaError_t cudaGetLastError() {
  const cudaError_t e = last_error;
  last_error = machine().lost;  // what is lost stays lost
  return e;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorECCUncorrectable: return "cudaErrorECCUncorrectable";
    default: return "cudaError";
  }
}
const char* cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorECCUncorrectable: return "uncorrectable ECC error encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureIsolation: return "dependency created on uncaptured work in another stream";
    default: return "an error of CUDA on the host";
  }
}

// ---- memory ----

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
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  LOCK;
  return copy(to, from, bytes, kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaMemcpy")) return e;
  const cudaError_t e = copy(to, from, bytes, kind, nullptr);
  run_device(current);
  return m.lost != cudaSuccess ? fail(m.lost) : e;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  LOCK;
  return copy(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemsetAsync(void* p, int v, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, "memset", [=] { std::memset(p, v, bytes); });
}
cudaError_t cudaMemset(void* p, int v, size_t bytes) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaMemset")) return e;
  return cudaMemsetAsync(p, v, bytes, nullptr);
}

// ---- streams and events ----

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) {
  LOCK;
  *s = new CUstream_st();
  (*s)->device = current;
  m.streams.push_back(*s);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (s.graph) {
    s.graph->spoilt = true;
    return refuse(cudaErrorStreamCaptureUnsupported, "cudaStreamSynchronize of a stream that is recorded");
  }
  if (const cudaError_t e = unsafe("cudaStreamSynchronize")) return e;
  m.counts["cudaStreamSynchronize"]++;
  run_until(s, 0);
  if (m.log && m.counts["cudaStreamSynchronize"] % 16 == 1) write_totals();
  return fail(m.lost);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  LOCK;
  if (const cudaError_t e = unsafe("cudaStreamQuery")) return e;
  CUstream_st& s = stream_of(stream);
  if (s.items.empty()) return cudaSuccess;
  run_until(s, s.items.size() - 1);
  return s.items.empty() ? cudaSuccess : fail(cudaErrorNotReady);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = new CUevent_st();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  LOCK;
  for (size_t d = 0; d < m.devices.size(); d++) run_device(int(d));  // none that is still to come names it
  delete e;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  e->graph = s.graph;
  e->stream = &s;
  e->recorded++;
  if (s.graph) return cudaSuccess;
  CUstream_st::Item i;
  i.event = e;
  i.turn = e->recorded;
  s.items.push_back(std::move(i));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  LOCK;
  if (e->graph) return refuse(cudaErrorStreamCaptureUnsupported, "cudaEventQuery of an event that is recorded");
  if (const cudaError_t u = unsafe("cudaEventQuery")) return u;
  if (e->done < e->recorded && e->stream && !e->stream->items.empty()) run_until(*e->stream, e->stream->items.size() - 1);
  return e->done >= e->recorded ? cudaSuccess : fail(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  LOCK;
  if (e->graph) return refuse(cudaErrorStreamCaptureUnsupported, "cudaEventSynchronize of an event that is recorded");
  if (const cudaError_t u = unsafe("cudaEventSynchronize")) return u;
  while (e->done < e->recorded && e->stream && !e->stream->items.empty()) run_until(*e->stream, e->stream->items.size() - 1);
  return fail(m.lost);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  LOCK;
  *ms = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (e->graph) {
    if (s.graph && s.graph != e->graph) return refuse(cudaErrorStreamCaptureMerge, "two recordings meet");
    s.graph = e->graph;
    return cudaSuccess;
  }
  if (s.graph) return refuse(cudaErrorStreamCaptureIsolation, "a stream that is recorded waits for an event that is not");
  if (e->done >= e->recorded) return cudaSuccess;
  CUstream_st::Item i;
  i.wait = e;
  i.turn = e->recorded;
  s.items.push_back(std::move(i));
  return cudaSuccess;
}

// ---- graphs ----

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, own_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  LOCK;
  auto g = stream_of(stream).graph;
  *status = !g ? cudaStreamCaptureStatusNone : g->spoilt ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
  LOCK;
  auto g = stream_of(stream).graph;
  *status = !g ? cudaStreamCaptureStatusNone : g->spoilt ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  if (id) *id = g ? g->id : 0;
  if (graph) *graph = g;
  if (dependencies) *dependencies = nullptr;
  if (count) *count = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  if (&s == &m.devices.at(size_t(s.device))->all) return refuse(cudaErrorStreamCaptureUnsupported, "the default stream is not recorded");
  if (s.graph) return refuse(cudaErrorIllegalState, "a stream is recorded twice");
  s.graph = new CUgraph_st();
  s.graph->origin = &s;
  s.graph->mode = mode;
  s.graph->thread = std::this_thread::get_id();
  s.graph->id = ++m.graphs;
  m.recordings.push_back(s.graph);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  CUgraph_st* g = s.graph;
  if (!g || g->origin != &s) return refuse(cudaErrorIllegalState, "the end of a recording that has not begun");
  if (g->thread != std::this_thread::get_id() && g->mode != cudaStreamCaptureModeRelaxed)
    return refuse(cudaErrorStreamCaptureWrongThread, "another thread ends a recording");
  for (auto other : m.streams)
    if (other->graph == g) other->graph = nullptr;
  for (size_t i = 0; i < m.recordings.size(); i++)
    if (m.recordings[i] == g) m.recordings.erase(m.recordings.begin() + long(i));
  *graph = g->spoilt ? nullptr : g;
  return g->spoilt ? fail(cudaErrorStreamCaptureInvalidated) : cudaSuccess;
}
static cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t graph) {
  LOCK;
  *exec = new CUgraphExec_st{graph->nodes};
  m.counts["graphs"]++;
  if (m.log) {
    std::fprintf(m.log, "graph %llu, %zu nodes\n", graph->id, graph->nodes.size());
    for (auto& n : graph->nodes) std::fprintf(m.log, "  %s\n", n.text.c_str());
    std::fflush(m.log);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) { return instantiate(exec, graph); }
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) { return instantiate(exec, graph); }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* n) {
  if (!nodes) *n = graph->nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  Machine& m = machine();
  std::lock_guard<std::recursive_mutex> lock(m.mutex);
  m.counts["launches"] += exec->nodes.size();
  if (m.lose && m.counts["launches"] >= uint64_t(std::abs(m.lose))) {
    if (m.lose < 0)
      for (;;) pause();
    return fail(m.lost = cudaErrorECCUncorrectable);
  }
  return enqueue(stream, "replay", [exec] {
    for (auto& n : exec->nodes)
      if (n.work) n.work();
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  LOCK;
  for (size_t d = 0; d < m.devices.size(); d++) run_device(int(d));
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) { return cudaSuccess; }

// ---- kernels ----

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

// ---- what libtorch names and torchpe never reaches ----

#define NOT_HERE(name, ...) \
  cudaError_t name(__VA_ARGS__) { return refuse(cudaErrorNotSupported, #name); }
NOT_HERE(cudaDeviceGetDefaultMemPool, cudaMemPool_t*, int)
NOT_HERE(cudaFreeAsync, void*, cudaStream_t)
NOT_HERE(cudaMallocAsync, void**, size_t, cudaStream_t)
NOT_HERE(cudaIpcCloseMemHandle, void*)
NOT_HERE(cudaIpcGetMemHandle, cudaIpcMemHandle_t*, void*)
NOT_HERE(cudaIpcOpenMemHandle, void**, cudaIpcMemHandle_t, unsigned)
NOT_HERE(cudaMemPoolGetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*)
NOT_HERE(cudaMemPoolSetAccess, cudaMemPool_t, const cudaMemAccessDesc*, size_t)
NOT_HERE(cudaMemPoolSetAttribute, cudaMemPool_t, cudaMemPoolAttr, void*)
NOT_HERE(cudaMemPoolTrimTo, cudaMemPool_t, size_t)

}  // extern "C"
