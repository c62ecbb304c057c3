// kernels.cc: kernels by their names, which the libraries register, in the PTX of a folder (CUDAHOST_PTX): files *.ptx and `index`, a
// line "FILE:.entry NAME" for each kernel.
#include "kernels.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "ptx/ptx.h"

namespace cudahost {
namespace {

struct Kernels {
  std::unordered_map<const void*, const char*> names;  // of what a program launches
  std::unordered_map<std::string, std::string> files;  // of kernels
  std::unordered_map<std::string, std::shared_ptr<ptx::Module>> modules;
  std::unordered_map<const void*, std::shared_ptr<const ptx::Kernel>> kernels;
  std::mutex mutex;

  static Kernels& instance() {
    static Kernels* k = new Kernels();  // libraries register before main
    return *k;
  }

  const ptx::Kernel& of(const void* function) {
    std::lock_guard<std::mutex> lock(mutex);
    auto& kernel = kernels[function];
    if (!kernel) kernel = find(function);
    return *kernel;
  }

  std::shared_ptr<const ptx::Kernel> find(const void* function) {
    const char* const folder = std::getenv("CUDAHOST_PTX");
    if (!folder) throw std::runtime_error("CUDAHOST_PTX names no folder of PTX");
    if (files.empty()) read_index(folder);
    const std::string name = kernel_name(function);
    const auto file = files.find(name);
    if (file == files.end()) throw std::runtime_error("there is no PTX of " + name);
    auto& module = modules[file->second];
    if (!module) {
      std::ifstream in(std::string(folder) + "/" + file->second, std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      module = ptx::load(text.data(), text.size());
    }
    return ptx::decode(module, name);
  }

  void read_index(const std::string& folder) {
    std::ifstream in(folder + "/index");
    const std::string mark = ":.entry ";
    for (std::string line; std::getline(in, line);) {
      const auto at = line.find(mark);
      if (at != std::string::npos) files[line.substr(at + mark.size())] = line.substr(0, at);
    }
  }
};

// A launch with a copy of each parameter.
struct Launch {
  const ptx::Kernel* kernel;
  ptx::Dim grid, block;
  size_t shared;
  std::vector<std::vector<char>> args;

  void run() const {
    std::vector<const void*> pointers;
    for (auto& a : args) pointers.push_back(a.data());
    ptx::run(*kernel, grid, block, shared, pointers.data());
  }
};

}  // namespace

void register_kernel(const void* function, const char* name) { Kernels::instance().names[function] = name; }

std::string kernel_name(const void* function) {
  const auto& names = Kernels::instance().names;
  const auto at = names.find(function);
  return at == names.end() ? "that nobody registered" : at->second;
}

std::function<void()> prepare(const void* function, dim3 grid, dim3 block, void** args, size_t shared) {
  const ptx::Kernel& kernel = Kernels::instance().of(function);
  auto l = std::make_shared<Launch>(Launch{&kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, {}});
  const auto& parameters = ptx::parameters(kernel);
  for (size_t i = 0; i < parameters.size(); i++) {
    const char* from = static_cast<const char*>(args[i]);
    l->args.emplace_back(from, from + parameters[i].size);
  }
  return [l] { l->run(); };
}

void check_addresses(bool (*valid)(uint64_t address, size_t bytes, bool write)) { ptx::valid_address = valid; }

}  // namespace cudahost
