// trace.cc: how long each operator, and each of a GPU's kernels, takes: by libtorch's profiler.
#include "handles.h"

#include <torch/csrc/autograd/profiler_kineto.h>

using namespace torchpe;

namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

std::set<ActivityType> activities() {
  std::set<ActivityType> all = {ActivityType::CPU};
  if (torch::cuda::is_available()) all.insert(ActivityType::CUDA);
  return all;
}

// How long an event took; older libtorch counts microseconds.
template <typename Event>
auto nanoseconds(const Event& e, int) -> decltype(int64_t(e.durationNs())) {
  return int64_t(e.durationNs());
}
template <typename Event>
int64_t nanoseconds(const Event& e, long) {
  return int64_t(e.durationUs()) * 1000;
}

}  // namespace

extern "C" {

char* tp_trace_begin(void) {
  return act([] {
    const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
    profiler::prepareProfiler(config, activities());
    profiler::enableProfiler(config, activities());
  });
}

char* tp_trace_end(char** events) {
  return act([&] {
    const auto result = profiler::disableProfiler();
    std::string lines;
    for (const auto& e : result->events())
      lines += std::string(e.deviceType() == c10::kCPU ? "cpu" : "gpu") + "\t" + std::to_string(nanoseconds(e, 0)) +
               "\t" + e.name() + "\n";
    *events = text(lines.c_str());
  });
}

}  // extern "C"
