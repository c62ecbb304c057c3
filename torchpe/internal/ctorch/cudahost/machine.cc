// machine.cc: streams that hold work until somebody waits for it, and who may call what while a graph is recorded.
#include "machine.h"

#include <cstdlib>

#include "kernels.h"

namespace cudahost {

thread_local int current = 0;
thread_local cudaError_t last_error = cudaSuccess;
thread_local cudaStreamCaptureMode own_mode = cudaStreamCaptureModeGlobal;

namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* s = std::getenv(name);
  return s && *s ? std::atoll(s) : otherwise;
}

}  // namespace

Machine::Machine() {
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

Machine& machine() {
  static Machine* m = new Machine();
  return *m;
}

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

CUstream_st& stream_of(cudaStream_t s) {
  // null, legacy and per-thread are the default stream here
  if (reinterpret_cast<uintptr_t>(s) < 16) return machine().devices.at(size_t(current))->all;
  return *s;
}

namespace {

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

}  // namespace

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

cudaError_t refuse(cudaError_t error, const std::string& why) {
  machine().refused++;
  std::fprintf(stderr, "cudahost: %s\n", why.c_str());
  return fail(error);
}

cudaError_t enqueue(cudaStream_t stream, std::string text, Work work) {
  LOCK;
  CUstream_st& s = stream_of(stream);
  const bool product_or_kernel = text[0] == 'g' || text[0] == 'k';  // "gemm ...", "kernel ..."
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
