// gpu.cc: whether the kernels run, and on which device.
#include "gpu.h"

#ifdef TORCHPE_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

namespace torchpe {

#ifndef TORCHPE_CUDA_KERNELS
namespace compiled {
template <typename T>
const GpuTable<T>& table() {
  TORCH_CHECK(false, "this shim was built without nvcc");
}
template <typename T, typename S>
const GpuWideTable<T, S>& wide_table() {
  TORCH_CHECK(false, "this shim was built without nvcc");
}
}  // namespace compiled
#endif

bool use_kernels(const at::Tensor& t) {
  if (t.scalar_type() != at::kFloat && t.scalar_type() != at::kDouble) return false;
#ifdef TORCHPE_CUDA_KERNELS
  if (t.is_cuda()) return fused_form() != 0;
#endif
  return t.device().is_cpu() && fused_form() == 2;
}

template <typename T>
const GpuTable<T>& gpu_kernels(const at::Tensor& t) {
  return t.is_cuda() ? compiled::table<T>() : emulated::table<T>();
}
template const GpuTable<float>& gpu_kernels<float>(const at::Tensor&);
template const GpuTable<double>& gpu_kernels<double>(const at::Tensor&);

template <typename T, typename S>
const GpuWideTable<T, S>& wide_kernels(const at::Tensor& t) {
  return t.is_cuda() ? compiled::wide_table<T, S>() : emulated::wide_table<T, S>();
}
template const GpuWideTable<float, float>& wide_kernels<float, float>(const at::Tensor&);
template const GpuWideTable<float, Bf16>& wide_kernels<float, Bf16>(const at::Tensor&);
template const GpuWideTable<double, double>& wide_kernels<double, double>(const at::Tensor&);

OnDevice::OnDevice(const at::Tensor& t) {
  if (!t.is_cuda()) return;
  guard_.reset_device(t.device());
#ifdef TORCHPE_CUDA
  stream_.stream = c10::cuda::getCurrentCUDAStream(t.device().index()).stream();
#endif
}

}  // namespace torchpe
