// operators.cc: which of libtorch's operators are called, and how often.
#include "handles.h"

#include <ATen/record_function.h>

#include <map>

using namespace torchpe;

namespace {

struct Calls {
  static Calls& instance() {
    static Calls* c = new Calls();  // as the handles: never destroyed
    return *c;
  }
  std::mutex mutex;
  std::map<std::string, int64_t> of;
  at::CallbackHandle callback = 0;
  bool on = false;
};

std::unique_ptr<at::ObserverContext> called(const at::RecordFunction& f) {
  auto& calls = Calls::instance();
  std::lock_guard<std::mutex> lock(calls.mutex);
  calls.of[f.name()]++;
  return nullptr;
}

}  // namespace

extern "C" {

void tp_count_operators(int on) {
  tp_free_text(act([&] {  // where there is no memory for it, nothing is counted
    auto& calls = Calls::instance();
    std::lock_guard<std::mutex> lock(calls.mutex);
    if (on) calls.of.clear();
    if (calls.on == (on != 0)) return;
    if (on)
      calls.callback = at::addGlobalCallback(at::RecordFunctionCallback(called).scopes({at::RecordScope::FUNCTION}));
    else
      at::removeCallback(calls.callback);
    calls.on = on != 0;
  }));
}

char* tp_operators(void) {
  return told([] {
    auto& calls = Calls::instance();
    std::lock_guard<std::mutex> lock(calls.mutex);
    std::string lines;
    for (const auto& [name, n] : calls.of) lines += name + " " + std::to_string(n) + "\n";
    return lines;
  });
}

}  // extern "C"
