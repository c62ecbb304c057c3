// An interpreter of PTX, so that programs made of CUDA kernels can be tested without a GPU.
// Device pointers are host pointers; a warp of 32 lanes is executed at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
};

struct Param {
  size_t offset, size;
};

class Module;
class Kernel;

// Finds the entries, functions and variables of a PTX text. It decodes no instructions. The text is copied.
std::shared_ptr<Module> load(const char* text, size_t size);

// Decodes an entry and the functions that it calls; throws std::runtime_error when there is no such entry or its text is
// malformed. An instruction that is not known throws when it is executed.
std::shared_ptr<const Kernel> decode(const std::shared_ptr<Module>& module, const std::string& entry);
const std::vector<Param>& parameters(const Kernel& kernel);

// Runs all blocks of the grid, one after another. args[i] points at parameter i. Throws std::runtime_error.
void run(const Kernel& kernel, Dim grid, Dim block, size_t dynamic_shared, const void* const* args);

// A module-scope variable, or null if there is none of that name.
void* variable(Module& module, const std::string& name, size_t* size);

// When set, it is asked before accesses to global memory, once for a whole range where a warp's addresses lie together.
extern bool (*valid_address)(uint64_t address, size_t bytes, bool write);

}  // namespace ptx
