// system.cc: describes the machine, and replaces a slow BLAS kernel.
#include <ATen/SequenceNumber.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "fused.h"
#include "product.h"

#ifdef TORCHPE_CUDA
#include <cuda_runtime_api.h>
#endif

using namespace torchpe;

namespace {

template <typename F>
F symbol(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

std::string blas_kernel() {
  auto f = symbol<const char* (*)()>("openblas_get_corename");
  return f ? f() : "";
}

// OpenBLAS's names of x86-64 kernels by what they need; the last one that holds is the fastest.
constexpr std::array<const char*, 14> slow_kernels = {
    "Prescott",  "Core2",  "Penryn",      "Dunnington", "Nehalem",    "Athlon",      "Opteron",
    "Barcelona", "Bobcat", "Sandybridge", "Bulldozer",  "Piledriver", "Steamroller", "generic"};
constexpr std::array<const char*, 3> avx2_kernels = {"Haswell", "Zen", "Excavator"};

int rank_of(const std::string& kernel) {
  for (auto k : slow_kernels)
    if (kernel == k) return 0;
  for (auto k : avx2_kernels)
    if (kernel == k) return 1;
  return 2;
}

std::string wanted_kernel() {
#if defined(__x86_64__)
  if (blas_kernel().empty()) return "";
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return "";
}

// Selects a faster kernel and says so; "" where there was nothing to do.
std::string repair_kernel() {
  const std::string have = blas_kernel(), want = wanted_kernel();
  const char* wish = std::getenv("TORCHPE_BLAS_REPAIR");
  if ((wish && std::string(wish) == "0") || want.empty() || rank_of(have) >= rank_of(want)) return "";
  auto quit = symbol<void (*)()>("gotoblas_dynamic_quit"), init = symbol<void (*)()>("gotoblas_dynamic_init");
  if (!quit || !init) return "";
  setenv("OPENBLAS_CORETYPE", want.c_str(), 1);
  quit();
  init();
  const std::string now = blas_kernel();
  return now == have ? "" : "OpenBLAS kernel " + have + " replaced by " + now;
}

// The version of the libtorch that is loaded, which its build settings name.
std::string running_version() {
  const std::string s = at::show_config(), key = "TORCH_VERSION=";
  const auto at = s.find(key);
  if (at == std::string::npos) return TORCH_VERSION;
  const auto from = at + key.size();
  return s.substr(from, s.find_first_of(",\n ", from) - from);
}

int64_t version_number(const std::string& v) {
  int major = 0, minor = 0, patch = 0;
  std::sscanf(v.c_str(), "%d.%d.%d", &major, &minor, &patch);
  return int64_t(major) * 10000 + minor * 100 + patch;
}

std::atomic<int> fused_chosen{1};
std::atomic<int> threads_wanted{1};
std::atomic<uint64_t> next_node{0};  // that no thread has numbered yet

// Runs when this library is loaded. It sets one thread until somebody asks for more: two threads of one
// small product are slower than one where two CPUs share a core, and workers side by side take one
// each.
const std::string repaired = [] {
  auto done = repair_kernel();
  tp_set_threads(1);
  return done;
}();

}  // namespace

namespace torchpe {

int fused_form() { return fused_chosen.load(std::memory_order_relaxed); }

Call::Call() {
  thread_local int have = 0;
  const int wanted = threads_wanted.load(std::memory_order_relaxed);
  if (wanted != have) at::set_num_threads(wanted);
  have = wanted;
  const auto next = next_node.load();
  while (at::sequence_number::peek() < next) at::sequence_number::get_and_increment();
}

Call::~Call() {
  const auto next = at::sequence_number::peek();
  for (auto known = next_node.load(); known < next && !next_node.compare_exchange_weak(known, next);) continue;
}

namespace generic {
KernelTable<float> float_table();
KernelTable<double> double_table();
}
#ifdef TORCHPE_X86_KERNELS
namespace avx2 {
KernelTable<float> float_table();
KernelTable<double> double_table();
}
namespace avx512 {
KernelTable<float> float_table();
KernelTable<double> double_table();
}
#else
namespace avx2 = generic;
namespace avx512 = generic;
#endif

namespace {
// The best set that the CPU has, or a smaller one that TORCHPE_KERNELS names, to test it.
template <typename T>
KernelTable<T> pick(KernelTable<T> (*generic)(), KernelTable<T> (*two)(), KernelTable<T> (*five)()) {
#if defined(__x86_64__)
  const char* wish = std::getenv("TORCHPE_KERNELS");
  const std::string most = wish ? wish : "avx512";
  __builtin_cpu_init();
  if (most == "avx512" && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return five();
  if (most != "generic" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return two();
#endif
  return generic();
}
}  // namespace

template <>
const KernelTable<float>& kernels<float>() {
  static const auto table = pick<float>(generic::float_table, avx2::float_table, avx512::float_table);
  return table;
}

template <>
const KernelTable<double>& kernels<double>() {
  static const auto table = pick<double>(generic::double_table, avx2::double_table, avx512::double_table);
  return table;
}

}  // namespace torchpe

extern "C" {

tp_system_info tp_system(void) {
  tp_system_info s = {};
  try {
    s.built_version = version_number(TORCH_VERSION);
    s.running_version = version_number(running_version());
#ifdef TORCHPE_CUDA
    s.cuda_built = 1;
#endif
#ifdef TORCHPE_CUDA_KERNELS
    s.cuda_kernels = 1;
#endif
    s.cuda_bf16 = has_bf16_products();
    s.cuda_available = torch::cuda::is_available();
    s.gpus = s.cuda_available ? int(torch::cuda::device_count()) : 0;
    s.threads = tp_threads();
  } catch (...) {
  }
  return s;
}

char* tp_running_version(void) { return told(running_version); }

char* tp_cuda_reason(void) {
  return told([] {
    if (torch::cuda::is_available()) return "";
    // at::hasCUDA is about GPUs; a libtorch with CUDA has put its hooks there
    if (!at::CUDAHooksRegistry()->Has("CUDAHooks")) return "this libtorch is built for the CPU only";
    return "libtorch has CUDA but finds no GPU it can use (driver missing, or none visible)";
  });
}

char* tp_gpu(int index, char** name, int64_t* total_bytes, int64_t* free_bytes) {
  return act([&] {
#ifdef TORCHPE_CUDA
    cudaDeviceProp prop;
    TORCH_CHECK(cudaGetDeviceProperties(&prop, index) == cudaSuccess, "no GPU ", index);
    *name = text(prop.name);
    *total_bytes = int64_t(prop.totalGlobalMem);
    size_t free_now = 0, total = 0;
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(index);
    cudaMemGetInfo(&free_now, &total);
    cudaSetDevice(before);
    *free_bytes = int64_t(free_now);
#else
    (void)name, (void)total_bytes, (void)free_bytes;
    TORCH_CHECK(false, "GPU ", index, ": this shim was built without CUDA");
#endif
  });
}

char* tp_blas(void) {
  if (auto f = symbol<const char* (*)()>("openblas_get_config")) return text(f());
  return text(at::hasMKL() ? "MKL" : "unknown BLAS");
}

char* tp_blas_kernel(void) { return told(blas_kernel); }
char* tp_blas_wanted(void) { return told(wanted_kernel); }
char* tp_blas_repair(void) { return told([] { return repaired; }); }

void tp_set_threads(int n) {
  // OpenMP ends the process where it cannot start the threads it was told to.
  const int most = std::max(64, 4 * int(std::thread::hardware_concurrency()));
  n = std::min(std::max(n, 1), most);
  threads_wanted = n;
  if (auto f = symbol<void (*)(int)>("openblas_set_num_threads")) f(n);
}

int tp_threads(void) {
  try {
    const Call call;
    return at::get_num_threads();
  } catch (...) {
    return 1;
  }
}

const char* tp_kernels(void) { return kernels<float>().name; }

void tp_set_fused(int form) { fused_chosen = form; }

}  // extern "C"
