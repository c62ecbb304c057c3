// product.cc: products in lower precision. libtorch's bmm returns bfloat16 for bfloat16 operands,
// but training needs float32 sums, which the tensor cores compute anyway. So cuBLAS is called
// directly, or, if the shim was built without CUDA, float32 operands are rounded.
#include "product.h"

#include "gpu.h"
#include "quiet.h"

// libtorch's header with its cuBLAS handle includes headers of further libraries, and cuBLAS's
// header one of CUDA's C++ library (cccl), which may be missing.
#ifdef TORCHPE_CUBLAS
#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>) && __has_include(<nv/target>) && \
    __has_include(<cusparse.h>) && __has_include(<cusolverDn.h>)
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
#else
#undef TORCHPE_CUBLAS
#endif
#endif

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

std::atomic<int> precision_of_products{0};

#ifdef TORCHPE_CUBLAS
constexpr bool HAVE_CUBLAS = true;
#else
constexpr bool HAVE_CUBLAS = false;
#endif

// While it lives, libtorch's products of float32 like t use a GPU's tensor cores, where the
// precision says so. libtorch's switch is the process's, and angles and distances, which are also
// products, must not see it.
class TensorCores {
 public:
  explicit TensorCores(const at::Tensor& t)
      : on_(t.is_cuda() && t.scalar_type() == at::kFloat && precision() != Precision::fp32) {
    if (on_) allow(true);
  }
  ~TensorCores() {
    if (on_) allow(false);
  }
  TensorCores(const TensorCores&) = delete;
  static void allow(bool tf32) {
    const Quiet quiet;  // newer libtorch warns of these names; older ones have no others
    at::globalContext().setAllowTF32CuBLAS(tf32);
  }

 private:
  const bool on_;
};

// Whether bfloat16 operands with float32 results are multiplied here: by cuBLAS, or the emulation
// of its call.
bool multiplies_bf16(const at::Tensor& t) { return t.is_cuda() ? HAVE_CUBLAS : use_kernels(t); }

// One call of cublasGemmStridedBatchedEx: column-major c [m,n] = op(a) op(b) with m, n, k, leading
// dimensions and strides in elements. Row-major C = A B is column-major C^T = B^T A^T, so the
// operands change places.
struct Gemm {
  bool transpose_a, transpose_b;
  int64_t m, n, k, lda, stride_a, ldb, stride_b, ldc, stride_c, batch;
};

// How the rows of t [E,R,C] lie: dense rows are a column-major [C,R] as it is, dense columns a
// column-major [R,C] to transpose.
void layout(const at::Tensor& t, bool& transpose, int64_t& ld, int64_t& stride) {
  const int64_t R = t.size(1), C = t.size(2);
  transpose = t.stride(2) != 1 && C > 1;
  TORCH_CHECK(!transpose || t.stride(1) == 1 || R == 1, "product of a matrix ", t.sizes(), " with strides ",
              t.strides(), "; a row or a column must be dense");
  ld = transpose ? t.stride(2) : R == 1 ? C : t.stride(1);
  TORCH_CHECK(ld >= (transpose ? R : C), "product of a matrix that overlaps itself: ", t.sizes(), " with strides ",
              t.strides());
  stride = t.size(0) == 1 ? 0 : t.stride(0);
}

Gemm gemm_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  Gemm g;
  g.m = c.size(2);
  g.n = c.size(1);
  g.k = a.size(2);
  g.batch = c.size(0);
  layout(b, g.transpose_a, g.lda, g.stride_a);
  layout(a, g.transpose_b, g.ldb, g.stride_b);
  bool never = false;
  layout(c, never, g.ldc, g.stride_c);
  TORCH_CHECK(!never, "product into a matrix whose rows are not dense: ", c.sizes(), " with strides ", c.strides());
  return g;
}

// What cuBLAS computes, for tests.
template <typename C>
void emulate(const Gemm& g, const at::BFloat16* a, const at::BFloat16* b, float beta, C* c) {
  for (int64_t e = 0; e < g.batch; e++)
    for (int64_t j = 0; j < g.n; j++)
      for (int64_t i = 0; i < g.m; i++) {
        float sum = 0;
        for (int64_t l = 0; l < g.k; l++)
          sum += float(a[e * g.stride_a + (g.transpose_a ? l + i * g.lda : i + l * g.lda)]) *
                 float(b[e * g.stride_b + (g.transpose_b ? j + l * g.ldb : l + j * g.ldb)]);
        C& to = c[e * g.stride_c + i + j * g.ldc];
        to = C(beta == 0 ? sum : beta * float(to) + sum);
      }
}

// c = a b + beta c, c of float32 or bfloat16
void gemm_bf16(const at::Tensor& a, const at::Tensor& b, float beta, const at::Tensor& c) {
  if (c.numel() == 0) return;
  if (a.size(2) == 0) {
    if (beta == 0) c.zero_();
    return;
  }
  const Gemm g = gemm_of(a, b, c);
  const auto *pa = b.data_ptr<at::BFloat16>(), *pb = a.data_ptr<at::BFloat16>();
  const bool rounds = c.scalar_type() == at::kBFloat16;
  if (!c.is_cuda() && rounds) return emulate(g, pa, pb, beta, c.data_ptr<at::BFloat16>());
  if (!c.is_cuda()) return emulate(g, pa, pb, beta, c.data_ptr<float>());
#ifdef TORCHPE_CUBLAS
  const OnDevice here(c);
  const float one = 1;
  const auto status = cublasGemmStridedBatchedEx(
      at::cuda::getCurrentCUDABlasHandle(), g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
      g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, int(g.m), int(g.n), int(g.k), &one, pa, CUDA_R_16BF, int(g.lda),
      g.stride_a, pb, CUDA_R_16BF, int(g.ldb), g.stride_b, &beta, c.data_ptr(), rounds ? CUDA_R_16BF : CUDA_R_32F,
      int(g.ldc), g.stride_c, int(g.batch), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  // These two are failures of the GPU, the others of the operands.
  const bool gpu = status == CUBLAS_STATUS_EXECUTION_FAILED || status == CUBLAS_STATUS_INTERNAL_ERROR;
  TORCH_CHECK(status == CUBLAS_STATUS_SUCCESS, gpu ? "CUDA error: " : "", "cublasGemmStridedBatchedEx of ", a.sizes(),
              " and ", b.sizes(), ": status ", int(status));
#endif
}

void check_operands(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1), "product of ",
              a.sizes(), " and ", b.sizes());
  check_same("product", a, b);
}

struct RoundedProduct : torch::autograd::Function<RoundedProduct> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& a_in, const at::Tensor& b_in) {
    const auto a = operand(a_in), b = operand(b_in);
    ctx->save_for_backward({a, b});
    return operand_product(a, b);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto a = saved[0], b = saved[1];
    auto d = grads[0].contiguous();
    d = a.scalar_type() == at::kBFloat16 ? d.to(at::kBFloat16) : operand(d);
    at::Tensor da, db;
    if (ctx->needs_input_grad(0)) da = operand_product(d, b.transpose(1, 2));
    if (ctx->needs_input_grad(1)) db = operand_product(a.transpose(1, 2), d);
    return {da, db};
  }
};

}  // namespace

bool has_bf16_products() { return HAVE_CUBLAS; }

Precision precision() { return Precision(precision_of_products.load(std::memory_order_relaxed)); }

bool rounds_operands(const at::Tensor& t) {
  return t.scalar_type() == at::kFloat && precision() != Precision::fp32 && (t.is_cpu() || t.is_cuda());
}

void round_numbers(float* x, int64_t n, Precision to) {
  if (to == Precision::fp32) return;
  const int drop = to == Precision::tf32 ? 13 : 16;  // of float32's 23 bits
  const uint32_t half = (1u << (drop - 1)) - 1, low = (1u << drop) - 1;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    const uint32_t nearest = (bits + half + ((bits >> drop) & 1)) & ~low;
    const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    bits = nan ? bits | 0x00400000u : nearest;
    std::memcpy(x + i, &bits, 4);
  }
}

at::Tensor rounded(const at::Tensor& x, Precision to) {
  TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == at::kFloat, "rounding of ", x.toString());
  auto y = x.detach().clone(at::MemoryFormat::Preserve);  // without gaps
  at::parallel_for(0, y.numel(), 1 << 15,
                   [&](int64_t a, int64_t b) { round_numbers(y.data_ptr<float>() + a, b - a, to); });
  return y;
}

at::ScalarType operand_type(const at::Tensor& x) {
  return rounds_operands(x) && precision() == Precision::bf16 && multiplies_bf16(x) ? at::kBFloat16 : x.scalar_type();
}

at::Tensor operand(const at::Tensor& x) {
  if (!rounds_operands(x) || (x.is_cuda() && precision() == Precision::tf32)) return x;
  if (operand_type(x) == at::kBFloat16) return x.detach().to(at::kBFloat16);
  if (x.is_cuda()) return x.detach().to(at::kBFloat16).to(at::kFloat);
  return rounded(x, precision());
}

at::Tensor operand_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType stored) {
  check_operands(a, b);
  const TensorCores cores(a);
  if (a.scalar_type() != at::kBFloat16) return at::bmm(a, b);
  const auto c = at::empty({a.size(0), a.size(1), b.size(2)}, a.options().dtype(stored));
  gemm_bf16(a, b, 0, c);
  return c;
}

void add_product_(at::Tensor c, const at::Tensor& a, const at::Tensor& b, bool first) {
  check_operands(a, b);
  const TensorCores cores(a);
  if (a.scalar_type() == at::kBFloat16)
    gemm_bf16(a, b, first ? 0 : 1, c);
  else if (first)
    at::bmm_out(c, a, b);
  else
    c.baddbmm_(a, b);
}

at::Tensor rounded_product(const at::Tensor& a, const at::Tensor& b) { return RoundedProduct::apply(a, b); }

}  // namespace torchpe

using namespace torchpe;

extern "C" {

void tp_set_precision(int p) {
  const auto wanted = p == 1 ? Precision::tf32 : p == 2 ? Precision::bf16 : Precision::fp32;
  precision_of_products = int(wanted);
  try {
    if (!torch::cuda::is_available()) return;
    const Quiet quiet;
    TensorCores::allow(false);  // whatever the environment says
    at::globalContext().setAllowTF32CuDNN(false);
  } catch (...) {
  }
}

int tp_precision(void) { return int(precision()); }

}  // extern "C"
