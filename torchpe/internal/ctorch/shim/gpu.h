// gpu.h: the fused operators as computed by the kernels of cuda_kernels.h, with products by cuBLAS
// between them. The caller checks the arguments.
#pragma once
#include <c10/core/DeviceGuard.h>

#include "cuda_kernels.h"
#include "fused.h"

namespace torchpe {

// Whether the kernels compute what t takes part in: float32 and float64 on a GPU, where nvcc
// compiled them, or on the CPU after tp_set_fused(2).
bool use_kernels(const at::Tensor& t);

// The kernels for t's device and type.
template <typename T>
const GpuTable<T>& gpu_kernels(const at::Tensor& t);
// Those for wide tensors like t, which are stored as S.
template <typename T, typename S>
const GpuWideTable<T, S>& wide_kernels(const at::Tensor& t);

// WIDE_DISPATCH runs body with T, float or double, and S, the type in which x is stored: T or Bf16.
#define TORCHPE_WIDE_DISPATCH(x, ...)            \
  do {                                           \
    if ((x).scalar_type() == at::kBFloat16) {    \
      using T = float;                           \
      using S = Bf16;                            \
      (__VA_ARGS__)();                           \
    } else if ((x).scalar_type() == at::kFloat) { \
      using T = float;                           \
      using S = float;                           \
      (__VA_ARGS__)();                           \
    } else {                                     \
      using T = double;                          \
      using S = double;                          \
      (__VA_ARGS__)();                           \
    }                                            \
  } while (0)

// Makes t's device the current one while it lives; converts to the stream that libtorch uses there
// at the moment.
class OnDevice {
 public:
  explicit OnDevice(const at::Tensor& t);
  operator GpuStream() const { return stream_; }

 private:
  c10::OptionalDeviceGuard guard_;
  GpuStream stream_{nullptr};
};

at::Tensor linear_on_gpu(const at::Tensor& x, const at::Tensor& w, const at::Tensor& b, bool gelu, bool keep);
// x16, here and below: x as operand(x) gives it, or undefined.
torch::autograd::variable_list qkv_on_gpu(const at::Tensor& x, const at::Tensor& x16, const at::Tensor& w,
                                          const at::Tensor& b, int64_t heads);
// Whether rows of x are short enough, and gain and bias two parameters with dense rows: their
// gradients are added at a time.
bool norm_fits_gpu(const at::Tensor& x, const NormOperands& n);
// What layer norm leaves: the residual sum's, and the same as products take it, where that is
// another tensor. The latter has no gradient.
struct Normed {
  at::Tensor out, out16;
};
Normed add_layer_norm_on_gpu(const at::Tensor& x, const at::Tensor& y, const NormOperands& n, bool keep);
// Of few tokens. mask: empty, or [E,B,H,N,M] with any strides and
// without a gradient
at::Tensor attention_on_gpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                            double scale);
// The halves of a block (block.cc); biases empty for none, mask and read undefined.
struct AttentionBlock {
  at::Tensor x, x16, qkv_w, qkv_b, out_w, out_b, mask, read;
  TokenRows rows;
  int64_t heads;
  bool folds;  // one head's maps, where they can be
  double scale;
  NormOperands norm;
};
// How attention over more tokens than one kernel takes is computed, without a mask: by libtorch's
// memory-efficient form, or by its flash in bfloat16; none: composed.
enum class ManyForm { none = -1, efficient = 0, flash = 1 };
// The form in which x's attention over many tokens is computed inside the block's operator, with
// heads of that width: what tp_set_attention chose, where that can be.
ManyForm many_form(const at::Tensor& x, int64_t width);
Normed attention_block_on_gpu(const AttentionBlock& b);
// The two maps [E,D,D] of one head's tokens that take the place of four (one_head.cc): to queries of keys that
// are the tokens themselves, and of their weighted sums.
struct Folded {
  at::Tensor in_w, in_b, out_w, out_b;
};
Folded fold(const AttentionBlock& b);
struct MLPBlock {
  at::Tensor x, x16, in_w, in_b, out_w, out_b;
  NormOperands norm;
};
Normed mlp_block_on_gpu(const MLPBlock& b);
// The same in the CPU's loops, and the end of the first half: the norm of x + linear(y, w, b).
bool norm_fits_loops(const at::Tensor& x, const NormOperands& n);
Normed mlp_block_in_loops(const MLPBlock& b);
Normed add_linear_norm_in_loops(const at::Tensor& x, const at::Tensor& y, const at::Tensor& w, const at::Tensor& b,
                                const NormOperands& n);
at::Tensor dropout_on_gpu(const at::Tensor& x, double p, const at::Tensor& draws, uint64_t call);

}  // namespace torchpe
