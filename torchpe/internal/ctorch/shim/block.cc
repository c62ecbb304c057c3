// block.cc: the halves of a transformer block: attention with its residual sum, and the two linear
// maps with theirs. block_cuda.cc and block_loops.cc need fewer passes over memory than the
// separate operators.
#include <ATen/ExpandUtils.h>

#include "heads.h"
#include "operands.h"
#include "product.h"

using namespace torchpe;
using torch::autograd::variable_list;

namespace {

// Whether w [E,O,I] and bias, given or not, are one linear map for the members of x.
bool maps(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias, int64_t I, int64_t O) {
  const auto like = [&](const at::Tensor& t) { return t.scalar_type() == x.scalar_type() && t.device() == x.device(); };
  const int64_t of_w[] = {x.size(0), O, I}, of_b[] = {x.size(0), O};
  return w.sizes() == at::IntArrayRef(of_w) && like(w) &&
         (!given(bias) || (bias.sizes() == at::IntArrayRef(of_b) && like(bias)));
}

// Whether gain, bias and table are those of a layer norm of x.
bool norms(const at::Tensor& x, const NormOperands& n) {
  const auto like = [&](const at::Tensor& t) { return t.scalar_type() == x.scalar_type() && t.device() == x.device(); };
  const int64_t shape[] = {x.size(0), x.size(-1)}, of_table[] = {x.size(0), x.dim() == 4 ? x.size(2) : 0, x.size(-1)};
  return n.gain.sizes() == at::IntArrayRef(shape) && like(n.gain) && n.bias.sizes() == at::IntArrayRef(shape) &&
         like(n.bias) && (!given(n.table) || (n.table.sizes() == at::IntArrayRef(of_table) && like(n.table)));
}

// The layer norm of x + linear(y, w, b).
Normed add_linear_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& w, const at::Tensor& b,
                       const NormOperands& n) {
  const int64_t D = x.size(-1);
  if (x.numel() > 0 && y.sizes() == x.sizes() && maps(x, w, b, D, D) && norms(x, n) && norm_fits_loops(x, n))
    return add_linear_norm_in_loops(x, y, w, b, n);
  return add_layer_norm(x, linear(y, w, b, false, Stored::gradient), n, Stored::result);
}

// Whether the mask, if any, is constant and broadcasts to the logits of x.
bool masks(const AttentionBlock& b) {
  const int64_t N = b.x.size(2), of_logits[] = {b.x.size(0), b.x.size(1), b.heads, N, N};
  return !b.mask.defined() ||
         (!(at::GradMode::is_enabled() && b.mask.requires_grad()) && b.mask.scalar_type() == b.x.scalar_type() &&
          b.mask.device() == b.x.device() && at::is_expandable_to(b.mask.sizes(), of_logits));
}

// Whether one head's maps, which are to be folded, can be.
bool folds(const AttentionBlock& b) {
  if (!b.folds || b.heads != 1 || !use_loops(b.x) || rounds_operands(b.x) || b.x.dim() != 4) return false;
  if (b.read.defined() && b.read.numel() == 0) return false;
  const int64_t D = b.x.size(3);
  return maps(b.x, b.qkv_w, b.qkv_b, D, 3 * D) && maps(b.x, b.out_w, b.out_b, D, D) && masks(b);
}

at::Tensor merge_heads(const at::Tensor& t) {
  return t.permute({0, 1, 3, 2, 4}).reshape({t.size(0), t.size(1), t.size(3), t.size(2) * t.size(4)});
}

// The tokens that are queries: only those that are read; with a mask, which has a row for each query,
// all, and the tokens are read afterwards.
struct Asking {
  explicit Asking(const AttentionBlock& b) : read(b.read), only(b.read.defined() && !b.mask.defined()) {}
  at::Tensor before(const at::Tensor& x) const { return only ? tokens_of(x, read) : x; }
  at::Tensor after(const at::Tensor& x) const { return read.defined() && !only ? tokens_of(x, read) : x; }
  at::Tensor read;
  bool only;
};

// One head's attention by its two folded maps (one_head.cc).
Normed one_head(const AttentionBlock& b) {
  const Asking asking(b);
  const auto f = fold(b);
  if (b.rows.given() && !asking.only) {  // fewer rows than tokens: both maps are of them
    const auto q = map_in_loops(b.x, b.rows, f.in_w, f.in_b);
    const auto values = map_in_loops(b.x, b.rows, f.out_w, f.out_b);
    const auto over = attention_over(q[0], b.x, values[0], b.mask, b.scale);
    return add_layer_norm(asking.after(over[1]), asking.after(over[0].squeeze(2)), b.norm);
  }
  const auto q = map_in_loops(asking.before(b.x), {}, f.in_w, f.in_b);
  const auto over = attention_over(q[0], asking.only ? b.x : q[1], {}, b.mask, b.scale);
  const auto sum = asking.only ? q[1] : over[1];
  return add_linear_norm(asking.after(sum), asking.after(over[0].squeeze(2)), f.out_w, f.out_b, b.norm);
}

Normed attention_block_on_cpu(const AttentionBlock& b) {
  if (folds(b)) return one_head(b);
  const Asking asking(b);
  const Projection p{b.x16, b.qkv_w, b.qkv_b, b.heads, b.rows};
  variable_list all;  // queries, keys, values, x
  if (asking.only) {
    const auto kv = project(b.x, p, {1, 2}, Stored::result);
    const auto q = project(asking.before(kv[2]), {{}, p.w, p.b, p.heads, {}}, {0, 1}, Stored::result);
    all = {q[0], kv[0], kv[1], q[1]};
  } else {
    all = project(b.x, p, {0, 3}, Stored::result);
  }
  const auto a = merge_heads(attention(all[0], all[1], all[2], b.mask, b.scale));
  return add_linear_norm(asking.after(all[3]), asking.after(a), b.out_w, b.out_b, b.norm);
}

Normed composed(const MLPBlock& b) {
  const auto inner = linear(b.x, b.in_w, b.in_b, true, Stored::result);
  return add_layer_norm(b.x, linear(inner, b.out_w, b.out_b, true, Stored::gradient), b.norm, Stored::result);
}

// Whether the GPU's kernels can compute the layer norm of the sum, and the summand's bias, if any, is
// dense and a parameter of its own, so that all gradients are added in one kernel.
bool norm_fits(const at::Tensor& x, const NormOperands& n, const at::Tensor& summand_bias) {
  if (!norms(x, n) || !norm_fits_gpu(x, n)) return false;
  return !given(summand_bias) || ((summand_bias.stride(1) == 1 || summand_bias.size(1) == 1) &&
                                  !summand_bias.is_same(n.gain) && !summand_bias.is_same(n.bias));
}

// Operands that do not fit go to the plain operators, which report what is wrong with them.
bool fits_gpu(const AttentionBlock& b) {
  if (b.rows.given() || !use_kernels(b.x) || b.x.dim() != 4 || b.x.numel() == 0 || b.heads < 1 ||
      b.x.size(3) % b.heads != 0)
    return false;
  if (b.read.defined() &&
      (b.mask.defined() || given(b.norm.table) || b.read.numel() == 0 || b.read.device() != b.x.device()))
    return false;
  if (!masks(b)) return false;
  const int64_t D = b.x.size(3), N = b.x.size(2), Dh = D / b.heads;
  const int64_t asking = b.read.defined() ? b.read.size(2) : N;
  return (few_tokens(asking, N, Dh, Dh) || (!b.mask.defined() && many_form(b.x, Dh) != ManyForm::none)) &&
         maps(b.x, b.qkv_w, b.qkv_b, D, 3 * D) && maps(b.x, b.out_w, b.out_b, D, D) &&
         norm_fits(b.x, b.norm, b.out_b);
}

// Whether the operands are those of a block, which kernels and loops then need not check.
bool fits(const MLPBlock& b) {
  if (b.x.dim() < 2 || b.x.numel() == 0 || b.in_w.dim() != 3) return false;
  const int64_t D = b.x.size(-1), inner = b.in_w.size(1);
  return inner > 0 && maps(b.x, b.in_w, b.in_b, D, inner) && maps(b.x, b.out_w, b.out_b, inner, D) &&
         norms(b.x, b.norm);
}

}  // namespace

namespace {

// Tensors: x, weights and biases of the projection and of the output map, mask, read, rows, norm. Where read is
// given, only those tokens of the result are returned; where rows are, x must be what TakeRows returns of them.
Normed attention_block(const Operands& o) {
  const auto x = o[0];
  const AttentionBlock b{x, o.beside(0), o[1], o.or_empty(2, x), o[3], o.or_empty(4, x), o.optional(5), o.optional(6),
                         o.rows(7), o.integer(0), o.flag(1), o.number(0), o.norm(11, o.number(1), x)};
  TORCH_CHECK(!b.read.defined() || (b.read.dim() == 3 && x.dim() == 4 && b.read.scalar_type() == at::kLong &&
                                    b.read.sizes().slice(0, 2) == x.sizes().slice(0, 2)),
              "attention block of ", x.sizes(), " whose tokens ", b.read.sizes(), " of ", b.read.scalar_type(),
              " are read; expected x [E,B,N,D] and int64 [E,B,M]");
  TORCH_CHECK(!b.rows.given() || (x.dim() == 4 && b.rows.all.dim() == 4 && b.rows.all.size(-1) == x.size(3) &&
                                  b.rows.index.sizes() == x.sizes().slice(0, 3)),
              "attention block of ", x.sizes(), " taken from rows ", b.rows.all.sizes(), " by ", b.rows.index.sizes());
  return fits_gpu(b) ? attention_block_on_gpu(b) : attention_block_on_cpu(b);
}

// Tensors: x, weight and bias of the two maps, norm.
Normed mlp_block(const Operands& o) {
  const auto x = o[0];
  const MLPBlock b{x, o.beside(0), o[1], o.or_empty(2, x), o[3], o.or_empty(4, x), o.norm(5, o.number(0), x)};
  if (!fits(b)) return composed(b);
  if (use_kernels(x) && norm_fits(x, b.norm, b.out_b)) return mlp_block_on_gpu(b);
  return norm_fits_loops(x, b.norm) ? mlp_block_in_loops(b) : composed(b);
}

const Operators block_rows{
    OPERATOR("AttentionBlock", attention_block(o)),
    OPERATOR("MLPBlock", mlp_block(o)),
};

}  // namespace
