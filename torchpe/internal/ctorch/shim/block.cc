// block.cc: the halves of a transformer's block: attention and the residual sum around it, the two linear maps and theirs. On the
// CPU they are the operators that they are made of, which find their operands in cache; block_cuda.cc makes fewer passes over memory.
#include <ATen/ExpandUtils.h>

#include "gpu.h"
#include "heads.h"

using namespace torchpe;

namespace {

at::Tensor composed(const AttentionBlock& b) {
  const auto qkv = project_qkv(b.x, b.qkv_w, b.qkv_b, b.heads);
  const auto a = attention(qkv[0], qkv[1], qkv[2], b.mask, b.scale).permute({0, 1, 3, 2, 4}).reshape(b.x.sizes());
  return add_layer_norm(b.x, linear(a, b.out_w, b.out_b, false), b.gain, b.bias, b.eps);
}

at::Tensor composed(const MLPBlock& b) {
  return add_layer_norm(b.x, linear(linear(b.x, b.in_w, b.in_b, true), b.out_w, b.out_b, true), b.gain, b.bias, b.eps);
}

// Whether w [E,O,I] and bias, given or not, are one linear map for the members of x.
bool maps(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias, int64_t I, int64_t O) {
  const auto like = [&](const at::Tensor& t) { return t.scalar_type() == x.scalar_type() && t.device() == x.device(); };
  const int64_t of_w[] = {x.size(0), O, I}, of_b[] = {x.size(0), O};
  return w.sizes() == at::IntArrayRef(of_w) && like(w) && (!given(bias) || (bias.sizes() == at::IntArrayRef(of_b) && like(bias)));
}

// Whether the sum's layer norm is one that the kernels take, with a bias of the summand in rows of their own.
bool norm_fits(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& bias, const at::Tensor& summand_bias) {
  const int64_t shape[] = {x.size(0), x.size(-1)};
  const at::IntArrayRef wanted(shape);
  return gain.sizes() == wanted && bias.sizes() == wanted && gain.scalar_type() == x.scalar_type() && bias.scalar_type() == x.scalar_type() &&
         gain.device() == x.device() && bias.device() == x.device() && norm_fits_gpu(x, gain, bias) && (!given(summand_bias) || summand_bias.stride(1) == 1);
}

// What does not fit is left to the operators, which say so if it is wrong.
bool fits_gpu(const AttentionBlock& b) {
  if (!use_kernels(b.x) || b.x.dim() != 4 || b.x.numel() == 0 || b.heads < 1 || b.x.size(3) % b.heads != 0) return false;
  const int64_t D = b.x.size(3), N = b.x.size(2), Dh = D / b.heads, of_logits[] = {b.x.size(0), b.x.size(1), b.heads, N, N};
  if (b.mask.defined() && ((at::GradMode::is_enabled() && b.mask.requires_grad()) || b.mask.scalar_type() != b.x.scalar_type() ||
                           b.mask.device() != b.x.device() || !at::is_expandable_to(b.mask.sizes(), of_logits)))
    return false;
  return few_tokens(N, N, Dh, Dh) && maps(b.x, b.qkv_w, b.qkv_b, D, 3 * D) && maps(b.x, b.out_w, b.out_b, D, D) && norm_fits(b.x, b.gain, b.bias, b.out_b);
}

bool fits_gpu(const MLPBlock& b) {
  if (!use_kernels(b.x) || b.x.dim() < 2 || b.x.numel() == 0 || b.in_w.dim() != 3) return false;
  const int64_t D = b.x.size(-1), inner = b.in_w.size(1);
  return inner > 0 && maps(b.x, b.in_w, b.in_b, D, inner) && maps(b.x, b.out_w, b.out_b, inner, D) && norm_fits(b.x, b.gain, b.bias, b.out_b);
}

}  // namespace

extern "C" {

tp_result tp_attention_block(tp_tensor hx, tp_tensor hqkv_w, tp_tensor hqkv_b, int64_t heads, tp_tensor hmask, double scale, tp_tensor hout_w,
                             tp_tensor hout_b, tp_tensor hgain, tp_tensor hbias, double eps, int grad) {
  return op(grad, [&] {
    const auto x = get(hx);
    const AttentionBlock b{x,          get(hqkv_w),  get_or_empty(hqkv_b, x), get(hout_w), get_or_empty(hout_b, x), hmask == 0 ? at::Tensor() : get(hmask),
                           get(hgain), get(hbias),   heads,                   scale,       eps};
    return fits_gpu(b) ? attention_block_on_gpu(b) : composed(b);
  });
}

tp_result tp_mlp_block(tp_tensor hx, tp_tensor hin_w, tp_tensor hin_b, tp_tensor hout_w, tp_tensor hout_b, tp_tensor hgain, tp_tensor hbias, double eps,
                       int grad) {
  return op(grad, [&] {
    const auto x = get(hx);
    const MLPBlock b{x, get(hin_w), get_or_empty(hin_b, x), get(hout_w), get_or_empty(hout_b, x), get(hgain), get(hbias), eps};
    return fits_gpu(b) ? mlp_block_on_gpu(b) : composed(b);
  });
}

}  // extern "C"
