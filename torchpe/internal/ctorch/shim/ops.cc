// ops.cc: thin wrappers of libtorch's own operators, in the order of functions.h.
#include "handles.h"
#include "heads.h"
#include "quiet.h"

using namespace torchpe;

namespace {

int64_t element_count(at::IntArrayRef shape) {
  int64_t n = 1;
  for (int64_t s : shape) {
    TORCH_CHECK(s >= 0, "an axis of length ", s, " in the shape ", shape);
    TORCH_CHECK(s == 0 || n <= INT64_MAX / 16 / std::max<int64_t>(s, 1), "the shape ", shape, " is too large");
    n *= s;
  }
  return n;
}

int dtype_number(at::ScalarType t) {
  switch (t) {
    case at::kFloat: return TP_FLOAT32;
    case at::kDouble: return TP_FLOAT64;
    case at::kLong: return TP_INT64;
    case at::kBool: return TP_BOOL;
    default: TORCH_CHECK(false, "a tensor of dtype ", t, ", which torchpe does not use");
  }
}

// A reduction over the named axes, or over all where none is named.
std::vector<int64_t> reduced(const at::Tensor& x, const int64_t* d, int n) {
  std::vector<int64_t> v = dims(d, n).vec();
  if (v.empty())
    for (int64_t i = 0; i < x.dim(); i++) v.push_back(i);
  return v;
}

std::vector<at::Tensor> list(const tp_tensor* xs, int n) {
  std::vector<at::Tensor> v;
  for (int i = 0; i < n; i++) v.push_back(get(xs[i]));
  return v;
}

}  // namespace

extern "C" {

tp_result tp_from_data(const void* data, const int64_t* shape, int rank, int dtype, int dev) {
  return op(0, [&] {
    auto s = dims(shape, rank);
    const auto type = scalar_type(dtype);
    const int64_t n = element_count(s);
    auto t = at::empty(s, at::TensorOptions().dtype(type));
    if (n > 0) std::memcpy(t.data_ptr(), data, size_t(n) * t.element_size());
    return t.to(device(dev));
  });
}

tp_result tp_share_data(void* data, const int64_t* shape, int rank, int dtype) {
  return op(0, [&] {
    auto s = dims(shape, rank);
    const auto options = at::TensorOptions().dtype(scalar_type(dtype));
    return element_count(s) > 0 ? at::from_blob(data, s, options) : at::empty(s, options);
  });
}

tp_result tp_full(const int64_t* shape, int rank, double value, int dtype, int dev) {
  return op(0, [&] {
    auto s = dims(shape, rank);
    element_count(s);
    return at::full(s, value, at::TensorOptions().dtype(scalar_type(dtype)).device(device(dev)));
  });
}

tp_result tp_randn(const int64_t* shape, int rank, uint64_t seed, int dtype, int dev) {
  return op(0, [&] {
    auto s = dims(shape, rank);
    element_count(s);
    auto t = at::randn(s, at::detail::createCPUGenerator(seed), at::TensorOptions().dtype(at::kDouble));
    return t.to(device(dev), scalar_type(dtype));
  });
}

tp_info_result tp_info(tp_tensor x) {
  tp_info_result r = {};
  r.error = act([&] {
    auto t = get(x);
    r.rank = int(t.dim());
    for (int i = 0; i < r.rank; i++) r.shape[i] = t.size(i);
    r.dtype = dtype_number(t.scalar_type());
    r.device = t.is_cuda() ? 1 + int(t.get_device()) : int(TP_CPU);
    r.requires_grad = t.requires_grad();
  });
  return r;
}

char* tp_read(tp_tensor x, void* out, int64_t bytes) {
  return act([&] {
    at::NoGradGuard off;
    auto t = get(x).detach().to(at::kCPU).contiguous();
    const int64_t have = t.numel() * int64_t(t.element_size());
    TORCH_CHECK(have == bytes, "reading ", bytes, " bytes of a tensor that has ", have);
    if (bytes > 0) std::memcpy(out, t.data_ptr(), size_t(bytes));
  });
}

char* tp_copy_(tp_tensor dst, tp_tensor src) {
  return act([&] {
    at::NoGradGuard off;
    auto d = get(dst), s = get(src);
    TORCH_CHECK(d.sizes() == s.sizes(), "copying ", s.sizes(), " into ", d.sizes());
    d.copy_(s);
  });
}

char* tp_fill_(tp_tensor dst, double value) {
  return act([&] {
    at::NoGradGuard off;
    get(dst).fill_(value);
  });
}

#define UNARY(name, expr)                    \
  tp_result tp_##name(tp_tensor h, int grad) { \
    return op(grad, [&] {                    \
      auto x = get(h);                       \
      return expr;                           \
    });                                      \
  }
UNARY(neg, -x)
UNARY(abs, x.abs())
UNARY(exp, x.exp())
UNARY(log1p, x.log1p())
UNARY(sqrt, x.sqrt())
UNARY(square, x.square())
UNARY(sin, x.sin())
UNARY(cos, x.cos())
UNARY(sigmoid, x.sigmoid())
UNARY(softplus, at::softplus(x))
UNARY(relu, x.relu())
UNARY(gelu, at::gelu(x))
UNARY(floor, x.floor())
UNARY(contiguous, x.contiguous())
UNARY(detach, x.detach())
UNARY(clone, x.clone())

#define BINARY(name, expr)                                   \
  tp_result tp_##name(tp_tensor ha, tp_tensor hb, int grad) { \
    return op(grad, [&] {                                    \
      auto a = get(ha), b = get(hb);                         \
      return expr;                                           \
    });                                                      \
  }
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a* b)
BINARY(div, a / b)
BINARY(maximum, at::maximum(a, b))
BINARY(matmul, at::matmul(a, b))

tp_result tp_add_scalar(tp_tensor x, double c, int grad) {
  return op(grad, [&] { return get(x) + c; });
}
tp_result tp_mul_scalar(tp_tensor x, double c, int grad) {
  return op(grad, [&] { return get(x) * c; });
}
tp_result tp_clamp(tp_tensor x, double low, double high, int grad) {
  return op(grad, [&] { return get(x).clamp(low, high); });
}

tp_result tp_reshape(tp_tensor x, const int64_t* shape, int rank, int grad) {
  return op(grad, [&] { return get(x).reshape(dims(shape, rank)); });
}
tp_result tp_expand(tp_tensor x, const int64_t* shape, int rank, int grad) {
  return op(grad, [&] { return get(x).expand(dims(shape, rank)); });
}
tp_result tp_permute(tp_tensor x, const int64_t* d, int rank, int grad) {
  return op(grad, [&] { return get(x).permute(dims(d, rank)); });
}
tp_result tp_transpose(tp_tensor x, int64_t a, int64_t b, int grad) {
  return op(grad, [&] { return get(x).transpose(a, b); });
}
tp_result tp_unsqueeze(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] { return get(x).unsqueeze(dim); });
}
tp_result tp_squeeze(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] {
    auto t = get(x);
    TORCH_CHECK(t.size(dim) == 1, "squeezing axis ", dim, " of ", t.sizes(), ", whose length is not 1");
    return t.squeeze(dim);
  });
}
tp_result tp_narrow(tp_tensor x, int64_t dim, int64_t start, int64_t length, int grad) {
  return op(grad, [&] { return get(x).narrow(dim, start, length); });
}
tp_result tp_select(tp_tensor x, int64_t dim, int64_t index, int grad) {
  return op(grad, [&] { return get(x).select(dim, index); });
}
char* tp_unbind(tp_tensor x, int64_t dim, int n, int grad, tp_tensor* out) {
  return act([&] {
    at::AutoGradMode mode(grad != 0);
    const auto parts = get(x).unbind(dim);
    TORCH_CHECK(int64_t(parts.size()) == n, "unbinding axis ", dim, " of ", parts.size(), " entries into ", n);
    Handles::instance().put(parts, out);
  });
}
tp_result tp_cat(const tp_tensor* xs, int n, int64_t dim, int grad) {
  return op(grad, [&] { return at::cat(list(xs, n), dim); });
}
tp_result tp_stack(const tp_tensor* xs, int n, int64_t dim, int grad) {
  return op(grad, [&] { return at::stack(list(xs, n), dim); });
}
tp_result tp_flip(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] { return get(x).flip(dim); });
}
tp_result tp_pad(tp_tensor x, int64_t dim, int64_t before, int64_t after, double value, int grad) {
  return op(grad, [&] {
    auto t = get(x);
    const int64_t d = at::maybe_wrap_dim(dim, t.dim(), /*wrap_scalar=*/false);
    std::vector<int64_t> pads(size_t(2 * (t.dim() - d)), 0);  // pairs, from the last axis
    pads[pads.size() - 2] = before;
    pads[pads.size() - 1] = after;
    return at::constant_pad_nd(t, pads, value);
  });
}
tp_result tp_index_select(tp_tensor x, int64_t dim, tp_tensor index, int grad) {
  return op(grad, [&] {
    auto t = get(x), i = get(index);
    // libtorch 1.13 writes beside the result of a scalar.
    TORCH_CHECK(t.dim() >= 1 && i.dim() == 1, "index select of ", t.sizes(), " by ", i.sizes(),
                "; expected at least one axis, and index [n]");
    return t.index_select(dim, i);
  });
}
tp_result tp_gather(tp_tensor x, int64_t dim, tp_tensor index, int grad) {
  return op(grad, [&] {
    const auto from = get(x), at = get(index);
    const bool last = dim == -1 || dim == from.dim() - 1;
    return last && one_for_all_heads(from, at) ? gather_pairs(from, at) : from.gather(dim, at);
  });
}
tp_result tp_one_hot(tp_tensor index, int64_t classes, int dtype, int grad) {
  return op(grad, [&] {
    TORCH_CHECK(classes > 0, "one-hot of ", classes, " classes");
    return at::one_hot(get(index), classes).to(scalar_type(dtype));
  });
}
tp_result tp_to(tp_tensor x, int dtype, int dev, int grad) {
  return op(grad, [&] { return get(x).to(device(dev), scalar_type(dtype)); });
}

tp_result tp_sum(tp_tensor x, const int64_t* d, int n, int keep, int grad) {
  return op(grad, [&] {
    auto t = get(x);
    return t.sum(reduced(t, d, n), keep != 0);
  });
}
tp_result tp_mean(tp_tensor x, const int64_t* d, int n, int keep, int grad) {
  return op(grad, [&] {
    auto t = get(x);
    return t.mean(reduced(t, d, n), keep != 0);
  });
}
tp_result tp_argmax(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] { return get(x).argmax(dim); });
}
tp_result tp_cumsum(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] { return get(x).cumsum(dim); });
}

tp_result tp_softmax(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] {
    const auto t = get(x);
    return dim == -1 || dim == t.dim() - 1 ? softmax(t) : t.softmax(dim);
  });
}
tp_result tp_log_softmax(tp_tensor x, int64_t dim, int grad) {
  return op(grad, [&] { return get(x).log_softmax(dim); });
}
char* tp_backward(tp_tensor loss) {
  return act([&] {
    const Quiet quiet;  // of gradients of an ensemble, which lie in strides, as they are meant to
    at::AutoGradMode on(true);
    get(loss).backward();
  });
}
char* tp_set_requires_grad(tp_tensor x, int on) {
  return act([&] { get(x).requires_grad_(on != 0); });
}
tp_result tp_grad(tp_tensor x) {
  return op(0, [&] {
    auto t = get(x);
    TORCH_CHECK(t.is_leaf() && t.grad().defined(),
                "the tensor has no gradient: it is no leaf, or Backward did not reach it");
    if (t.numel() > 0 && take_empty(t)) t.grad().zero_();
    return t.grad();
  });
}
tp_result tp_leaf(tp_tensor x, int64_t offset, const int64_t* shape, int rank, tp_tensor grad_buffer) {
  return op(0, [&] {
    auto flat = get(x);
    auto grads = get_or_none(grad_buffer);
    auto s = dims(shape, rank);
    TORCH_CHECK(flat.dim() == 2 && rank >= 1 && s[0] == flat.size(0), "a leaf of shape ", s, " in a buffer ",
                flat.sizes());
    const int64_t per_member = element_count(s.slice(1));
    auto part = [&](const at::Tensor& t) { return t.narrow(1, offset, per_member).view(s); };
    auto leaf = part(flat).detach();
    if (grads.defined()) {
      TORCH_CHECK(grads.sizes() == flat.sizes() && grads.options().type_equal(flat.options()), "a gradient buffer ",
                  grads.sizes(), " of ", grads.toString(), " for parameters ", flat.sizes(), " of ", flat.toString());
      leaf.requires_grad_(true);
      leaf.mutable_grad() = part(grads).detach();
      fill_before_accumulation(leaf);
    }
    return leaf;
  });
}

}  // extern "C"
