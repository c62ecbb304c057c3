// block.cc: the halves of a transformer's block: attention and the residual sum around it, the two
// linear maps and theirs. block_cuda.cc and block_loops.cc make fewer passes over memory than the
// operators that they are made of.
#include <ATen/ExpandUtils.h>

#include "gpu.h"
#include "heads.h"
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

// Whether one head's maps are folded: forward and back that costs 12 D^3 operations and saves 12 D^2 a token.
bool folds(const AttentionBlock& b) {
  if (b.heads != 1 || !use_loops(b.x) || rounds_operands(b.x) || b.x.dim() != 4) return false;
  if (b.read.defined() && b.read.numel() == 0) return false;
  const int64_t D = b.x.size(3), tokens = b.x.size(1) * b.x.size(2);
  return tokens >= 2 * D && maps(b.x, b.qkv_w, b.qkv_b, D, 3 * D) && maps(b.x, b.out_w, b.out_b, D, D) && masks(b);
}

Normed composed(const AttentionBlock& b) {
  const auto merged = [](const at::Tensor& t) {
    return t.permute({0, 1, 3, 2, 4}).reshape({t.size(0), t.size(1), t.size(3), t.size(2) * t.size(4)});
  };
  const bool few_ask = b.read.defined() && !b.mask.defined();  // a mask has a row for every query
  const auto read = [&](const at::Tensor& x) { return b.read.defined() && !few_ask ? tokens_of(x, b.read) : x; };
  if (folds(b)) {
    const auto f = fold(b);
    if (b.rows.given() && !few_ask) {  // fewer rows than tokens: both maps are of them
      const auto asking = map_in_loops(b.x, b.rows, f.in_w, f.in_b);
      const auto values = map_in_loops(b.x, b.rows, f.out_w, f.out_b);
      const auto over = attention_over(asking[0], b.x, values[0], b.mask, b.scale);
      return add_layer_norm(read(over[1]), read(over[0].squeeze(2)), b.norm);
    }
    const auto asking = map_in_loops(few_ask ? tokens_of(b.x, b.read) : b.x, {}, f.in_w, f.in_b);
    const auto over = attention_over(asking[0], few_ask ? b.x : asking[1], {}, b.mask, b.scale);
    return add_linear_norm(read(few_ask ? asking[1] : over[1]), read(over[0].squeeze(2)), f.out_w, f.out_b, b.norm);
  }
  const Projection p{b.x16, b.qkv_w, b.qkv_b, b.heads, b.rows};
  variable_list all;  // queries, keys, values, x
  if (few_ask) {
    const auto kv = project(b.x, p, {1, 2}, Stored::result);
    const Projection asking{{}, p.w, p.b, p.heads, {}};
    const auto q = project(tokens_of(kv[2], b.read), asking, {0, 1}, Stored::result);
    all = {q[0], kv[0], kv[1], q[1]};
  } else {
    all = project(b.x, p, {0, 3}, Stored::result);
  }
  const auto a = merged(attention(all[0], all[1], all[2], b.mask, b.scale));
  return add_linear_norm(read(all[3]), read(a), b.out_w, b.out_b, b.norm);
}

Normed composed(const MLPBlock& b) {
  const auto inner = linear(b.x, b.in_w, b.in_b, true, Stored::result);
  return add_layer_norm(b.x, linear(inner, b.out_w, b.out_b, true, Stored::gradient), b.norm, Stored::result);
}

// Whether the sum's layer norm is one that the GPU's kernels take, and the summand's bias, given or not,
// dense and a parameter of its own: their gradients are added at a time.
bool norm_fits(const at::Tensor& x, const NormOperands& n, const at::Tensor& summand_bias) {
  if (!norms(x, n) || !norm_fits_gpu(x, n)) return false;
  return !given(summand_bias) || ((summand_bias.stride(1) == 1 || summand_bias.size(1) == 1) &&
                                  !summand_bias.is_same(n.gain) && !summand_bias.is_same(n.bias));
}

// What does not fit is left to the operators, which say so if it is wrong.
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
  return (few_tokens(asking, N, Dh, Dh) || (!b.mask.defined() && many_form(b.x, N, Dh) != ManyForm::none)) &&
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

extern "C" {

tp_result tp_attention_block(tp_tensor hx, tp_self_attention a, tp_norm norm, int grad) {
  return op_normed(grad, [&] {
    const auto x = get(hx);
    const AttentionBlock b{x,
                           Handles::instance().beside(hx),
                           get(a.qkv_w),
                           get_or_empty(a.qkv_b, x),
                           get(a.out_w),
                           get_or_empty(a.out_b, x),
                           get_or_none(a.mask),
                           get_or_none(a.read),
                           get_rows(a.rows),
                           a.heads,
                           a.scale,
                           get_norm(norm, x)};
    TORCH_CHECK(!b.read.defined() || (b.read.dim() == 3 && x.dim() == 4 && b.read.scalar_type() == at::kLong &&
                                      b.read.sizes().slice(0, 2) == x.sizes().slice(0, 2)),
                "attention block of ", x.sizes(), " whose tokens ", b.read.sizes(), " of ", b.read.scalar_type(),
                " are read; expected x [E,B,N,D] and int64 [E,B,M]");
    TORCH_CHECK(!b.rows.given() || (x.dim() == 4 && b.rows.all.dim() == 4 && b.rows.all.size(-1) == x.size(3) &&
                                    b.rows.index.sizes() == x.sizes().slice(0, 3)),
                "attention block of ", x.sizes(), " taken from rows ", b.rows.all.sizes(), " by ",
                b.rows.index.sizes());
    return fits_gpu(b) ? attention_block_on_gpu(b) : composed(b);
  });
}

tp_result tp_mlp_block(tp_tensor hx, tp_mlp m, tp_norm norm, int grad) {
  return op_normed(grad, [&] {
    const auto x = get(hx);
    const MLPBlock b{x,
                     Handles::instance().beside(hx),
                     get(m.in_w),
                     get_or_empty(m.in_b, x),
                     get(m.out_w),
                     get_or_empty(m.out_b, x),
                     get_norm(norm, x)};
    if (!fits(b)) return composed(b);
    if (use_kernels(x) && norm_fits(x, b.norm, b.out_b)) return mlp_block_on_gpu(b);
    return norm_fits_loops(x, b.norm) ? mlp_block_in_loops(b) : composed(b);
  });
}

}  // extern "C"
