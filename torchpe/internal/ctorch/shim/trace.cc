// trace.cc: libtorch's profiler, which names the called operators and writes a file for trace viewers.
#include "handles.h"

#include <torch/csrc/autograd/profiler_kineto.h>

using namespace torchpe;

namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;

}  // namespace

extern "C" {

char* tp_trace_begin(int kernels) {
  return act([&] {
    std::set<ActivityType> activities = {ActivityType::CPU};
    if (kernels && torch::cuda::is_available()) activities.insert(ActivityType::CUDA);
    const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
    profiler::prepareProfiler(config, activities);
    profiler::enableProfiler(config, activities);
  });
}

char* tp_trace_end(const char* path, char** names) {
  return act([&] {
    const auto result = profiler::disableProfiler();
    if (path) result->save(path);
    std::string lines;
    for (const auto& event : result->events()) lines += event.name() + "\n";
    *names = text(lines.c_str());
  });
}

}  // extern "C"
