// quiet.h: silences libtorch's warnings about intended behaviour.
#pragma once
#include <c10/util/Exception.h>
#include <torch/version.h>

namespace torchpe {

#if TORCH_VERSION_MAJOR >= 2
namespace warning_scope = c10::WarningUtils;
#else
namespace warning_scope = c10::Warning;
#endif

// Quiet drops libtorch's warnings while it lives.
class Quiet {
 public:
  Quiet() : guard_(&handler()) {}

 private:
  struct Handler : c10::WarningHandler {
#if TORCH_VERSION_MAJOR >= 2
    void process(const c10::Warning&) override {}
#else
    void process(const c10::SourceLocation&, const std::string&, const bool) override {}
#endif
  };
  static Handler& handler() {
    static Handler h;
    return h;
  }
  warning_scope::WarningHandlerGuard guard_;
};

}  // namespace torchpe
