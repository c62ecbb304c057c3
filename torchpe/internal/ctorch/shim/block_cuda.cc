// block_cuda.cc: the halves of a transformer's block on a GPU. A step's time there is memory traffic, and what the operators cannot
// save between them is saved here: biases are added where their sums are read, GELU before the residual sum is the layer norm's, as
// are the gradients through it, and the gradient of the residual sum is the one that the first product adds its own to.
#include "gpu_parts.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

struct MLPOnGpu : torch::autograd::Function<MLPOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& in_w, const at::Tensor& in_b, const at::Tensor& out_w,
                            const at::Tensor& out_b, const at::Tensor& gain, const at::Tensor& bias, double eps, bool keep) {
    const auto rows = as_rows(x_in), x = operand(rows), w1 = operand(dense_members(in_w)), w2 = operand(dense_members(out_w));
    const auto u = operand_product(x, w1.transpose(1, 2));
    const bool bf16 = operand_type(u) == at::kBFloat16;
    const auto inner = bf16 ? at::empty(u.sizes(), u.options().dtype(at::kBFloat16)) : keep ? at::empty_like(u) : u;
    bias_gelu(u, dense_members(in_b), true, inner);
    const auto h = operand(inner);
    NormPass n{rows, operand_product(h, w2.transpose(1, 2)), out_b, true, gain, bias, eps, {}, {}, {}, {}, {}, {}, {}};
    const auto out = n.forward(keep);
    if (keep) ctx->save_for_backward({x, w1, u, h, w2, n.y, n.xhat, n.rstd, in_w, in_b, out_w, out_b, gain, bias});
    return shaped(out, x_in.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &w1 = saved[1], &u = saved[2], &h = saved[3], &w2 = saved[4], &v = saved[5], &in_w = saved[8], &in_b = saved[9],
               &out_w = saved[10];
    const bool bf16 = x.scalar_type() == at::kBFloat16, need_x = ctx->needs_input_grad(0);
    const bool need_inner = need_x || in_w.requires_grad() || (given(in_b) && in_b.requires_grad());
    NormPass n{{}, v, saved[11], true, saved[12], saved[13], 0, saved[6], saved[7], {}, {}, {}, {}, {}};
    n.backward(as_rows(grads[0]), bf16);
    ProductBackward second{h, w2, out_w, need_inner, {}, {}, {}}, first{x, w1, in_w, need_x, n.ds, {}, {}};
    second.run(bf16 ? n.dy : operand(n.dy));
    at::Tensor db;
    if (need_inner) {
      BiasGeluBackward between{u, in_b, second.dx, {}};
      const auto du = between.run(need_x || in_w.requires_grad(), bf16);
      if (du.defined()) first.run(du);
      db = between.db;
    }
    return {first.dx.defined() ? shaped(first.dx, grads[0].sizes()) : at::Tensor(), first.dw, db, second.dw, n.dy_bias, n.dgain, n.dbias, {}, {}};
  }
};

// The bias of part 0, 1 or 2 of the projection, b [E,3D] or empty, as [E,B,H,1,Dh].
at::Tensor bias_as_heads(const at::Tensor& b, int64_t part, at::IntArrayRef heads) {
  if (!given(b)) return {};
  const int64_t H = heads[2], Dh = heads[4];
  return b.narrow(1, part * H * Dh, H * Dh).view({b.size(0), 1, H, 1, Dh}).expand({heads[0], heads[1], H, 1, Dh});
}

struct AttentionBlockOnGpu : torch::autograd::Function<AttentionBlockOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& qkv_w, const at::Tensor& qkv_b, const at::Tensor& out_w,
                            const at::Tensor& out_b, const at::Tensor& mask, const at::Tensor& gain, const at::Tensor& bias, int64_t heads, double scale,
                            double eps, bool keep) {
    const auto rows = as_rows(x_in), x = operand(rows), w1 = operand(dense_members(qkv_w)), w2 = operand(dense_members(out_w));
    const auto u = operand_product(x, w1.transpose(1, 2));
    const auto inner = at::empty_like(rows);
    self_attention(u, dense_members(qkv_b), mask, x_in.sizes(), heads, scale).forward(part_of(inner, x_in.sizes(), heads));
    const auto a = operand(inner);
    NormPass n{rows, operand_product(a, w2.transpose(1, 2)), out_b, false, gain, bias, eps, {}, {}, {}, {}, {}, {}, {}};
    const auto out = n.forward(keep);
    if (keep) {
      ctx->save_for_backward({x, w1, u, a, w2, n.xhat, n.rstd, mask, qkv_w, qkv_b, out_w, out_b, gain, bias});
      ctx->saved_data["heads"] = heads;
      ctx->saved_data["scale"] = scale;
    }
    return shaped(out, x_in.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &w1 = saved[1], &u = saved[2], &a = saved[3], &w2 = saved[4], &qkv_w = saved[8], &qkv_b = saved[9], &out_w = saved[10];
    const auto shape = grads[0].sizes().vec();
    const int64_t heads = ctx->saved_data["heads"].toInt();
    const bool bf16 = x.scalar_type() == at::kBFloat16, need_x = ctx->needs_input_grad(0), need_b = given(qkv_b) && qkv_b.requires_grad();
    const bool need_inner = need_x || qkv_w.requires_grad() || need_b;
    NormPass n{{}, {}, saved[11], false, saved[12], saved[13], 0, saved[5], saved[6], {}, {}, {}, {}, {}};
    n.backward(as_rows(grads[0]), bf16);
    ProductBackward second{a, w2, out_w, need_inner, {}, {}, {}}, first{x, w1, qkv_w, need_x, n.ds, {}, {}};
    second.run(bf16 ? n.dy : operand(n.dy));
    at::Tensor db;
    if (need_inner) {
      auto pass = self_attention(u, dense_members(qkv_b), saved[7], shape, heads, ctx->saved_data["scale"].toDouble());
      const auto du = at::empty_like(u);
      const auto parts = need_b ? at::empty({shape[0], shape[1], 1, 3 * shape[3]}, u.options()) : at::Tensor();
      lay_out(pass, du, parts, shape, heads);
      pass.backward(part_of(second.dx, shape, heads));
      if (need_b) {
        const auto to = grad_target(qkv_b);
        add_sums(parts, {to.into});
        db = to.result();
      }
      if (need_x || qkv_w.requires_grad()) first.run(operand(du));
    }
    return {first.dx.defined() ? shaped(first.dx, shape) : at::Tensor(), first.dw, db, second.dw, n.dy_bias, {}, n.dgain, n.dbias, {}, {}, {}, {}};
  }

  // y [E,rows,D], of the shape [E,B,N,D], as [E,B,H,N,Dh].
  static at::Tensor part_of(const at::Tensor& y, at::IntArrayRef shape, int64_t heads) {
    return y.view({shape[0], shape[1], shape[2], heads, shape[3] / heads}).permute({0, 1, 3, 2, 4});
  }

  // The attention of u [E,rows,3D], the projection without its bias.
  static AttentionPass self_attention(const at::Tensor& u, const at::Tensor& bias, const at::Tensor& mask, at::IntArrayRef shape, int64_t heads,
                                      double scale) {
    const auto all = u.view({shape[0], shape[1], shape[2], 3 * shape[3]});
    AttentionPass p{part_as_heads(all, 0, heads), part_as_heads(all, 1, heads), part_as_heads(all, 2, heads), {}, {}, {}, mask, scale, {}, {}, {}, {}, {}, {}};
    p.q_bias = bias_as_heads(bias, 0, p.q.sizes());
    p.k_bias = bias_as_heads(bias, 1, p.q.sizes());
    p.v_bias = bias_as_heads(bias, 2, p.q.sizes());
    return p;
  }

  // Gradients of the pass go to du [E,rows,3D], their sums over tokens to parts [E,B,1,3D] where that is defined.
  static void lay_out(AttentionPass& p, const at::Tensor& du, const at::Tensor& parts, at::IntArrayRef shape, int64_t heads) {
    const auto all = du.view({shape[0], shape[1], shape[2], 3 * shape[3]});
    p.dq = part_as_heads(all, 0, heads);
    p.dk = part_as_heads(all, 1, heads);
    p.dv = part_as_heads(all, 2, heads);
    if (!parts.defined()) return;
    p.dq_sum = part_as_heads(parts, 0, heads);
    p.dk_sum = part_as_heads(parts, 1, heads);
    p.dv_sum = part_as_heads(parts, 2, heads);
  }
};

}  // namespace

at::Tensor mlp_block_on_gpu(const MLPBlock& b) {
  return MLPOnGpu::apply(b.x, b.in_w, b.in_b, b.out_w, b.out_b, b.gain, b.bias, b.eps, at::GradMode::is_enabled());
}

at::Tensor attention_block_on_gpu(const AttentionBlock& b) {
  const auto mask = b.mask.defined() ? b.mask.detach().expand({b.x.size(0), b.x.size(1), b.heads, b.x.size(2), b.x.size(2)})
                                     : at::empty({0}, b.x.options().requires_grad(false));
  return AttentionBlockOnGpu::apply(b.x, b.qkv_w, b.qkv_b, b.out_w, b.out_b, mask, b.gain, b.bias, b.heads, b.scale, b.eps, at::GradMode::is_enabled());
}

}  // namespace torchpe
