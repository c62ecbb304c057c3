// loss.cc: cross-entropy, and the number of correct answers.
#include "operands.h"

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

namespace {

// The mean [E] over the batch: logits [E,B,C], target int64 [E,B].
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target) {
  check_classes("cross-entropy", logits, target);
  if (fits_gpu(logits)) return at::Tensor(CrossEntropyOnGpu::apply(logits, target));
  return -logits.log_softmax(-1).gather(-1, target.unsqueeze(-1)).squeeze(-1).mean(1);
}

// The number of rows whose first largest logit is the target's: float64 [E].
at::Tensor count_correct(const at::Tensor& z, const at::Tensor& target) {
  const at::NoGradGuard off;
  check_classes("right answers", z, target);
  if (!fits_gpu(z)) return z.argmax(-1).eq(target).to(at::kDouble).sum(1);
  const auto dense = z.contiguous(), classes = target.contiguous();
  auto right = at::empty({z.size(0)}, z.options().dtype(at::kDouble));
  const OnDevice here(z);
  TORCHPE_DISPATCH(z, [&] {
    gpu_kernels<T>(z).right_answers(here, z.size(0), z.size(1), z.size(2), dense.data_ptr<T>(),
                                    classes.data_ptr<int64_t>(), right.data_ptr<double>());
  });
  return right;
}

const Operators loss_rows{
    OPERATOR("CrossEntropy", cross_entropy(o[0], o[1])),
    OPERATOR("CountCorrect", count_correct(o[0].detach(), o[1])),
};

}  // namespace
