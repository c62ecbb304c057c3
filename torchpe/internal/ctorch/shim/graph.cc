// graph.cc: streams, CUDA graphs, and copies to the device for which the host does not wait.
//
// A graph is recorded from the calls of one thread between tp_graph_begin and tp_graph_end, on a
// stream that is not the default one: the thread first takes its own (tp_own_stream). Memory that a
// recording allocates belongs to the graph; graphs that never run at the same time share it.
#include "handles.h"

#include <map>
#include <memory>

#include <torch/version.h>

#ifdef TORCHPE_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#endif

using namespace torchpe;

namespace {

#ifdef TORCHPE_CUDA

struct Recording {
  explicit Recording(c10::Device d) : device(d) {}
  c10::Device device;  // must be the thread's current one while it is recorded
  at::cuda::CUDAGraph graph;
};

struct Graphs {
  static Graphs& instance() {
    static Graphs* g = new Graphs();  // as the handles: never destroyed
    return *g;
  }
  std::shared_ptr<Recording> find(uint64_t id) {
    std::lock_guard<std::mutex> lock(mutex);
    auto at = all.find(id);
    TORCH_CHECK(at != all.end(), "there is no graph ", id);
    return at->second;
  }
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Recording>> all;
  uint64_t last = 0;
};

c10::DeviceIndex gpu(int number) {
  const auto d = device(number);
  TORCH_CHECK(d.is_cuda(), "device ", d, " has no streams and no graphs");
  return d.index();
}

#else

char* no_cuda() {
  return act([] {
    TORCH_CHECK(false,
                "this shim was built without CUDA: build it against a libtorch with CUDA, on a machine with its "
                "toolkit's headers");
  });
}

// An error where there is no such device.
char* exists(int number) {
  return act([&] { device(number); });
}

#endif

}  // namespace

extern "C" {

char* tp_synchronize(int number) {
  return act([&] {
    if (device(number).is_cuda()) torch::cuda::synchronize(device(number).index());
  });
}

#ifdef TORCHPE_CUDA

char* tp_own_stream(int number) {
  return act([&] { c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(false, gpu(number))); });
}

char* tp_default_stream(int number) {
  return act([&] { c10::cuda::setCurrentCUDAStream(c10::cuda::getDefaultCUDAStream(gpu(number))); });
}

char* tp_graph_begin(int number, uint64_t share, uint64_t* graph) {
  return act([&] {
    auto& all = Graphs::instance();
    const auto index = gpu(number);
    TORCH_CHECK(c10::cuda::getCurrentCUDAStream(index) != c10::cuda::getDefaultCUDAStream(index),
                "a graph is recorded on a stream of the thread's own, and this thread has none");
    const c10::DeviceGuard here(device(number));
    auto g = std::make_shared<Recording>(device(number));
    if (share)
      g->graph.capture_begin(all.find(share)->graph.pool());
    else
      g->graph.capture_begin();
    std::lock_guard<std::mutex> lock(all.mutex);
    *graph = ++all.last;
    all.all[*graph] = std::move(g);
  });
}

char* tp_graph_end(uint64_t graph) {
  return act([&] {
    const auto g = Graphs::instance().find(graph);
    const c10::DeviceGuard here(g->device);
    g->graph.capture_end();
  });
}

char* tp_graph_replay(uint64_t graph) {
  return act([&] { Graphs::instance().find(graph)->graph.replay(); });
}

char* tp_graph_free(uint64_t graph) {
  return act([&] {
    auto& all = Graphs::instance();
    auto g = all.find(graph);
    std::lock_guard<std::mutex> lock(all.mutex);
    all.all.erase(graph);
  });
}

char* tp_device_memory(int number, int64_t* allocated, int64_t* peak, int64_t* reserved) {
  return act([&] {
    *allocated = *peak = *reserved = 0;
    if (!device(number).is_cuda()) return;
    const auto s = c10::cuda::CUDACachingAllocator::getDeviceStats(gpu(number));  // [0]: pools of all sizes together
    *allocated = s.allocated_bytes[0].current;
    *peak = s.allocated_bytes[0].peak;
    *reserved = s.reserved_bytes[0].current;
  });
}

char* tp_reset_peak_memory(int number) {
  return act([&] {
    if (device(number).is_cuda()) c10::cuda::CUDACachingAllocator::resetPeakStats(gpu(number));
  });
}

char* tp_release_cached(int number) {
  return act([&] {
    if (device(number).is_cuda()) c10::cuda::CUDACachingAllocator::emptyCache();
  });
}

#else

char* tp_own_stream(int) { return no_cuda(); }
char* tp_default_stream(int) { return no_cuda(); }
char* tp_graph_begin(int, uint64_t, uint64_t*) { return no_cuda(); }
char* tp_graph_end(uint64_t) { return no_cuda(); }
char* tp_graph_replay(uint64_t) { return no_cuda(); }
char* tp_graph_free(uint64_t) { return no_cuda(); }
char* tp_reset_peak_memory(int number) { return exists(number); }
char* tp_release_cached(int number) { return exists(number); }
char* tp_device_memory(int number, int64_t* allocated, int64_t* peak, int64_t* reserved) {
  *allocated = *peak = *reserved = 0;
  return exists(number);
}

#endif

char* tp_write_(tp_tensor hdst, const void* data, int64_t bytes) {
  return act([&] {
    at::NoGradGuard off;
    auto dst = get(hdst);
    const int64_t have = dst.numel() * int64_t(dst.element_size());
    TORCH_CHECK(dst.is_contiguous() && have == bytes, "writing ", bytes, " bytes into ",
                dst.is_contiguous() ? "" : "the strided ", dst.sizes(), " of ", have);
    if (bytes == 0) return;
    if (dst.is_cpu()) {
      std::memcpy(dst.data_ptr(), data, size_t(bytes));
      return;
    }
    // The allocator of pinned memory does not give this out again before the copy is through.
    auto pinned = at::empty(dst.sizes(), dst.options().device(at::kCPU).requires_grad(false).pinned_memory(true));
    std::memcpy(pinned.data_ptr(), data, size_t(bytes));
    dst.copy_(pinned, /*non_blocking=*/true);
  });
}

char* tp_set_deterministic(int on) {
  return act([&] {
    // Where libtorch has no deterministic form of an operator it warns instead of failing.
    at::globalContext().setDeterministicAlgorithms(on != 0, /*warn_only=*/true);
    at::globalContext().setDeterministicCuDNN(on != 0);
    at::globalContext().setBenchmarkCuDNN(false);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
    // What is read here was written before: a pass over every new tensor would only take time.
    at::globalContext().setDeterministicFillUninitializedMemory(false);
#endif
  });
}

}  // extern "C"
