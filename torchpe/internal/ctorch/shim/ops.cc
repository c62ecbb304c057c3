// ops.cc: creates and reads tensors for Go, and has libtorch's own operators, one row each.
#include "heads.h"
#include "operands.h"
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

// The axes of a reduction: integers 1 and up, or all axes where none is given.
std::vector<int64_t> reduced(const Operands& o) {
  std::vector<int64_t> axes = o.integers(1).vec();
  if (axes.empty())
    for (int64_t i = 0; i < o[0].dim(); i++) axes.push_back(i);
  return axes;
}

at::Tensor squeeze(const at::Tensor& x, int64_t axis) {
  TORCH_CHECK(x.size(axis) == 1, "squeezing axis ", axis, " of ", x.sizes(), ", whose length is not 1");
  return x.squeeze(axis);
}

at::Tensor pad(const at::Tensor& x, int64_t axis, int64_t before, int64_t after, double value) {
  const int64_t d = at::maybe_wrap_dim(axis, x.dim(), /*wrap_scalar=*/false);
  std::vector<int64_t> pads(size_t(2 * (x.dim() - d)), 0);  // pairs, from the last axis
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = after;
  return at::constant_pad_nd(x, pads, value);
}

at::Tensor index_select(const at::Tensor& x, int64_t axis, const at::Tensor& index) {
  // libtorch 1.13 writes beside the result of a scalar.
  TORCH_CHECK(x.dim() >= 1 && index.dim() == 1, "index select of ", x.sizes(), " by ", index.sizes(),
              "; expected at least one axis, and index [n]");
  return x.index_select(axis, index);
}

at::Tensor gather(const at::Tensor& x, int64_t axis, const at::Tensor& index) {
  const bool last = axis == -1 || axis == x.dim() - 1;
  return last && one_for_all_heads(x, index) ? gather_pairs(x, index) : x.gather(axis, index);
}

at::Tensor one_hot(const at::Tensor& index, int64_t classes, at::ScalarType type) {
  TORCH_CHECK(classes > 0, "one-hot of ", classes, " classes");
  return at::one_hot(index, classes).to(type);
}

void copy(const at::Tensor& to, const at::Tensor& from) {
  const at::NoGradGuard off;
  TORCH_CHECK(to.sizes() == from.sizes(), "copying ", from.sizes(), " into ", to.sizes());
  to.copy_(from);
}

at::Tensor gradient(const at::Tensor& x) {
  const at::NoGradGuard off;
  TORCH_CHECK(x.is_leaf() && x.grad().defined(),
              "the tensor has no gradient: it is no leaf, or Backward did not reach it");
  if (x.numel() > 0 && take_empty(x)) x.grad().zero_();
  return x.grad();
}

// A parameter of this shape [E,...] in the columns of a buffer [E,P] from offset on, with its gradient in
// the same columns of grads, where these are given.
at::Tensor leaf(const at::Tensor& buffer, const at::Tensor& grads, int64_t offset, at::IntArrayRef shape) {
  const at::NoGradGuard off;
  TORCH_CHECK(buffer.dim() == 2 && !shape.empty() && shape[0] == buffer.size(0), "a leaf of shape ", shape,
              " in a buffer ", buffer.sizes());
  const int64_t per_member = element_count(shape.slice(1));
  const auto part = [&](const at::Tensor& t) { return t.narrow(1, offset, per_member).view(shape); };
  const auto leaf = part(buffer).detach();
  if (grads.defined()) {
    TORCH_CHECK(grads.sizes() == buffer.sizes() && grads.options().type_equal(buffer.options()), "a gradient buffer ",
                grads.sizes(), " of ", grads.toString(), " for parameters ", buffer.sizes(), " of ", buffer.toString());
    leaf.requires_grad_(true);
    leaf.mutable_grad() = part(grads).detach();
    fill_before_accumulation(leaf);
  }
  return leaf;
}

const Operators op_rows{
    // elementwise
    OPERATOR("Neg", -o[0]),
    OPERATOR("Abs", o[0].abs()),
    OPERATOR("Exp", o[0].exp()),
    OPERATOR("Log1p", o[0].log1p()),
    OPERATOR("Sqrt", o[0].sqrt()),
    OPERATOR("Square", o[0].square()),
    OPERATOR("Sin", o[0].sin()),
    OPERATOR("Cos", o[0].cos()),
    OPERATOR("Sigmoid", o[0].sigmoid()),
    OPERATOR("Softplus", at::softplus(o[0])),
    OPERATOR("ReLU", o[0].relu()),
    OPERATOR("GELU", at::gelu(o[0])),
    OPERATOR("Floor", o[0].floor()),
    OPERATOR("Contiguous", o[0].contiguous()),
    OPERATOR("Detach", o[0].detach()),
    OPERATOR("Clone", o[0].clone()),
    OPERATOR("AddScalar", o[0] + o.number(0)),
    OPERATOR("MulScalar", o[0] * o.number(0)),
    OPERATOR("Clamp", o[0].clamp(o.number(0), o.number(1))),
    // elementwise of two, which broadcast, and the product of matrices
    OPERATOR("Add", o[0] + o[1]),
    OPERATOR("Sub", o[0] - o[1]),
    OPERATOR("Mul", o[0] * o[1]),
    OPERATOR("Div", o[0] / o[1]),
    OPERATOR("Maximum", at::maximum(o[0], o[1])),
    OPERATOR("MatMul", at::matmul(o[0], o[1])),
    // shapes
    OPERATOR("Reshape", o[0].reshape(o.integers())),
    OPERATOR("Expand", o[0].expand(o.integers())),
    OPERATOR("Permute", o[0].permute(o.integers())),
    OPERATOR("Transpose", o[0].transpose(o.integer(0), o.integer(1))),
    OPERATOR("Unsqueeze", o[0].unsqueeze(o.integer(0))),
    OPERATOR("Squeeze", squeeze(o[0], o.integer(0))),
    OPERATOR("Narrow", o[0].narrow(o.integer(0), o.integer(1), o.integer(2))),
    OPERATOR("Select", o[0].select(o.integer(0), o.integer(1))),
    OPERATOR("Unbind", o[0].unbind(o.integer(0))),
    OPERATOR("Cat", at::cat(o.all(), o.integer(0))),
    OPERATOR("Stack", at::stack(o.all(), o.integer(0))),
    OPERATOR("Flip", o[0].flip(o.integer(0))),
    OPERATOR("Pad", pad(o[0], o.integer(0), o.integer(1), o.integer(2), o.number(0))),
    OPERATOR("IndexSelect", index_select(o[0], o.integer(0), o[1])),
    OPERATOR("Gather", gather(o[0], o.integer(0), o[1])),
    OPERATOR("OneHot", one_hot(o[0], o.integer(0), scalar_type(int(o.integer(1))))),
    OPERATOR("To", o[0].to(device(int(o.integer(1))), scalar_type(int(o.integer(0))))),
    // along axes
    OPERATOR("Sum", o[0].sum(reduced(o), o.flag(0))),
    OPERATOR("Mean", o[0].mean(reduced(o), o.flag(0))),
    OPERATOR("Argmax", o[0].argmax(o.integer(0))),
    OPERATOR("Cumsum", o[0].cumsum(o.integer(0))),
    OPERATOR("LogSoftmax", o[0].log_softmax(o.integer(0))),
    // memory and gradients
    OPERATION("CopyFrom", copy(o[0], o[1])),
    OPERATION("Fill", at::NoGradGuard off; o[0].fill_(o.number(0))),
    OPERATION("Backward", const Quiet quiet;  // of gradients of an ensemble, which lie in strides, as they are meant to
              at::AutoGradMode on(true); o[0].backward()),
    OPERATION("RequireGrad", o[0].requires_grad_(true)),
    OPERATOR("Grad", gradient(o[0])),
    OPERATOR("Leaf", leaf(o[0], o.optional(1), o.integer(0), o.integers(1))),
};

}  // namespace

std::vector<Operator>& Operators::table() {
  static auto* rows = new std::vector<Operator>();  // never destroyed, as the handles
  return *rows;
}

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

const char* tp_op_name(int op) {
  const auto& table = Operators::table();
  return op >= 0 && size_t(op) < table.size() ? table[size_t(op)].name : nullptr;
}

char* tp_op(int op, const tp_tensor* tensors, int n_tensors, const int64_t* integers, int n_integers,
            const double* numbers, int n_numbers, int grad, tp_tensor* results, int n_results) {
  return act([&] {
    const auto& table = Operators::table();
    TORCH_CHECK(op >= 0 && size_t(op) < table.size(), "no operator has number ", op);
    const at::AutoGradMode mode(grad != 0);
    const Results r = table[size_t(op)].run(
        {{tensors, size_t(n_tensors)}, {integers, size_t(n_integers)}, {numbers, size_t(n_numbers)}});
    TORCH_CHECK(int64_t(r.tensors.size()) == n_results, table[size_t(op)].name, " has ", r.tensors.size(),
                " results, not ", n_results);
    Handles::instance().put(r.tensors, results);
    if (r.beside.defined()) Handles::instance().keep(results[0], r.beside);
  });
}

}  // extern "C"
