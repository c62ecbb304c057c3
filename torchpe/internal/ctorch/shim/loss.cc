// loss.cc: cross-entropy, and how many answers are right.
#include "gpu.h"

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

void check_classes(const char* what, const at::Tensor& z, const at::Tensor& y) {
  TORCH_CHECK(z.dim() == 3 && y.dim() == 2 && z.size(0) == y.size(0) && z.size(1) == y.size(1) &&
                  z.device() == y.device() && y.scalar_type() == at::kLong,
              what, " of logits ", z.sizes(), " with targets ", y.sizes(), " of ", y.scalar_type(),
              "; expected [E,B,C] and int64 [E,B] beside them");
}

bool fits_gpu(const at::Tensor& z) { return use_kernels(z) && z.numel() > 0 && z.size(2) <= GPU_FEW_CLASSES; }

struct CrossEntropyOnGpu : torch::autograd::Function<CrossEntropyOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& z_in, const at::Tensor& y_in) {
    const auto z = z_in.contiguous(), y = y_in.contiguous();
    auto loss = at::empty({z.size(0)}, z.options());
    const OnDevice here(z);
    TORCHPE_DISPATCH(z, [&] {
      gpu_kernels<T>(z).cross_entropy(here, z.size(0), z.size(1), z.size(2), z.data_ptr<T>(), y.data_ptr<int64_t>(),
                                      loss.data_ptr<T>());
    });
    ctx->save_for_backward({z, y});
    return loss;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto z = saved[0], y = saved[1], d = grads[0];
    auto dz = at::empty_like(z);
    const OnDevice here(z);
    TORCHPE_DISPATCH(z, [&] {
      gpu_kernels<T>(z).cross_entropy_backward(here, z.size(0), z.size(1), z.size(2), z.data_ptr<T>(),
                                               y.data_ptr<int64_t>(), d.data_ptr<T>(), d.stride(0), dz.data_ptr<T>());
    });
    return {dz, at::Tensor()};
  }
};

}  // namespace

extern "C" {

tp_result tp_cross_entropy(tp_tensor logits, tp_tensor target, int grad) {
  return op(grad, [&] {
    const auto z = get(logits), y = get(target);
    check_classes("cross-entropy", z, y);
    if (fits_gpu(z)) return at::Tensor(CrossEntropyOnGpu::apply(z, y));
    return -z.log_softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1).mean(1);
  });
}

tp_result tp_right_answers(tp_tensor logits, tp_tensor target) {
  return op(0, [&] {
    const auto z = get(logits).detach(), y = get(target);
    check_classes("right answers", z, y);
    if (!fits_gpu(z)) return z.argmax(-1).eq(y).to(at::kDouble).sum(1);
    const auto dense = z.contiguous(), classes = y.contiguous();
    auto right = at::empty({z.size(0)}, z.options().dtype(at::kDouble));
    const OnDevice here(z);
    TORCHPE_DISPATCH(z, [&] {
      gpu_kernels<T>(z).right_answers(here, z.size(0), z.size(1), z.size(2), dense.data_ptr<T>(),
                                      classes.data_ptr<int64_t>(), right.data_ptr<double>());
    });
    return right;
  });
}

}  // extern "C"
