// trace.cc: libtorch's profiler, which writes a file for a viewer of traces.
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

}  // namespace

extern "C" {

char* tp_trace_begin(void) {
  return act([] {
    const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
    profiler::prepareProfiler(config, activities());
    profiler::enableProfiler(config, activities());
  });
}

char* tp_trace_end(const char* path) {
  return act([&] {
    const auto result = profiler::disableProfiler();
    if (path) result->save(path);
  });
}

}  // extern "C"
