// block_cuda.cc: the halves of a transformer block on a GPU. The time of a step there is memory traffic, and
// this file saves what separate operators cannot: biases are added where their sums are read; the GELU
// before the residual sum, and the gradients through it, are computed by the layer norm; and the first
// product adds its gradient to that of the residual sum. Where products take bfloat16, wide tensors between
// them are stored as bfloat16: the inner layer before and after its GELU, queries, keys and values, the
// results of attention and of the last products of both halves, what layer norm keeps, and the gradients of
// these. The residual sums and their gradients are float32.
#include "gpu_parts.h"
#include "heads.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

struct MLPOnGpu : torch::autograd::Function<MLPOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& in_w,
                            const at::Tensor& in_b, const at::Tensor& out_w, const at::Tensor& out_b,
                            const at::Tensor& gain, const at::Tensor& bias, const at::Tensor& table,
                            const at::Tensor* x16, at::Tensor* out16, double eps, bool keep) {
    const auto rows = as_rows(x_in), x = operand_of(rows, *x16), w1 = operand(dense_members(in_w)),
               w2 = operand(dense_members(out_w));
    const auto stored = operand_type(rows);
    const auto u = operand_product(x, w1.transpose(1, 2), stored), inner = keep ? at::empty_like(u) : u;
    bias_gelu(u, dense_members(in_b), true, inner);
    const auto h = operand(inner);
    NormPass n;
    n.x = rows;
    n.y = operand_product(h, w2.transpose(1, 2), stored);
    n.y_bias = out_b;
    n.gelu = true;
    n.norm = {gain, bias, table, eps};
    const auto normed = n.forward(keep);
    *out16 = normed.out16;
    if (keep)
      ctx->save_for_backward({x, w1, u, h, w2, n.y, n.xhat, n.rstd, in_w, in_b, out_w, out_b, gain, bias, table});
    return shaped(normed.out, x_in.sizes());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &w1 = saved[1], &u = saved[2], &h = saved[3], &w2 = saved[4], &v = saved[5],
               &in_w = saved[8], &in_b = saved[9], &out_w = saved[10];
    const bool bf16 = x.scalar_type() == at::kBFloat16, need_x = ctx->needs_input_grad(0);
    const bool need_inner = need_x || in_w.requires_grad() || (given(in_b) && in_b.requires_grad());
    NormPass n;
    n.y = v;
    n.y_bias = saved[11];
    n.gelu = true;
    n.norm = {saved[12], saved[13], saved[14], 0};
    n.xhat = saved[6];
    n.rstd = saved[7];
    n.backward(as_rows(grads[0]));
    const auto dw1 = wanted_target(in_w), dw2 = wanted_target(out_w);
    const auto dy = operand(n.dy);
    add_weight_gradient(dw2, dy, h);
    at::Tensor dx, db;
    if (need_inner) {
      BiasGeluBackward between{u, in_b, operand_product(dy, w2, u.scalar_type()), {}};
      const auto du = between.run(need_x || in_w.requires_grad(), bf16);
      add_weight_gradient(dw1, du, x);
      if (need_x) add_product_(dx = n.ds, du, w1);
      db = between.db;
    }
    return {dx.defined() ? shaped(dx, grads[0].sizes()) : dx,
            dw1.result(),
            db,
            dw2.result(),
            n.dy_bias,
            n.dgain,
            n.dbias,
            n.dtable,
            {},
            {},
            {},
            {}};
  }
};

// Where all tokens are read, one product makes queries, keys and values; else queries have a product
// of their own.
struct AttentionBlockOnGpu : torch::autograd::Function<AttentionBlockOnGpu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_in, const at::Tensor& qkv_w,
                            const at::Tensor& qkv_b, const at::Tensor& out_w, const at::Tensor& out_b,
                            const at::Tensor& mask, const at::Tensor& read, const at::Tensor& gain,
                            const at::Tensor& bias, const at::Tensor& table, const at::Tensor* x16,
                            at::Tensor* out16, int64_t heads, double scale, double eps, bool keep) {
    const int64_t D = x_in.size(3);
    const auto rows = as_rows(x_in), asking = given(read) ? as_rows(tokens_of(x_in, read)) : rows;
    const auto stored = operand_type(rows);
    const auto x = operand_of(rows, *x16), asks = given(read) ? operand(asking) : x, w1 = operand(dense_members(qkv_w)),
               w2 = operand(dense_members(out_w));
    const auto u = operand_product(x, (given(read) ? w1.narrow(1, D, 2 * D) : w1).transpose(1, 2), stored);
    const auto uq = given(read) ? operand_product(asks, w1.narrow(1, 0, D).transpose(1, 2), stored) : u;
    const Projected p{x_in.size(1), heads, !given(read)};
    at::Tensor inner;
    const int64_t N = x_in.size(2), Dh = D / heads;
    const auto form = few_tokens(asking.size(1) / p.batch, N, Dh, Dh) ? ManyForm::none : many_form(rows, Dh);
    ManyTokens many{form, p.batch, heads, scale, uq, u, given(read)};
    if (form == ManyForm::none) {
      inner = at::empty(asking.sizes(), u.options());
      p.attention(uq, u, dense_members(qkv_b), mask, scale).forward(p.part(inner, 0, 1));
    } else {
      inner = many.forward(dense_members(qkv_b), keep);
    }
    const auto a = operand(inner);
    NormPass n;
    n.x = asking;
    n.y = operand_product(a, w2.transpose(1, 2), stored);
    n.y_bias = out_b;
    n.norm = {gain, bias, table, eps};
    const auto normed = n.forward(keep);
    *out16 = normed.out16;
    if (keep) {
      ctx->save_for_backward({x,     asks,  w1,    many.uq, many.u, a,    w2,    n.xhat,    n.rstd,    mask,       read,
                              qkv_w, qkv_b, out_w, out_b,   gain,   bias, table, many.sums, many.seed, many.offset});
      ctx->saved_data["shape"] = x_in.sizes().vec();
      ctx->saved_data["heads"] = heads;
      ctx->saved_data["form"] = int64_t(form);
      ctx->saved_data["scale"] = scale;
    }
    return at::_unsafe_view(normed.out, {x_in.size(0), x_in.size(1), given(read) ? read.size(2) : x_in.size(2), D});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const auto &x = saved[0], &asks = saved[1], &w1 = saved[2], &uq = saved[3], &u = saved[4], &a = saved[5],
               &w2 = saved[6], &mask = saved[9], &read = saved[10], &qkv_w = saved[11], &qkv_b = saved[12],
               &out_w = saved[13];
    const auto shape = ctx->saved_data["shape"].toIntVector();
    const int64_t D = shape[3];
    const bool need_x = ctx->needs_input_grad(0), need_b = given(qkv_b) && qkv_b.requires_grad();
    const bool need_inner = need_x || qkv_w.requires_grad() || need_b;
    NormPass n;
    n.y_bias = saved[14];
    n.norm = {saved[15], saved[16], saved[17], 0};
    n.xhat = saved[7];
    n.rstd = saved[8];
    n.backward(as_rows(grads[0]));
    const auto dw1 = wanted_target(qkv_w), dw2 = wanted_target(out_w), db = wanted_target(qkv_b);
    const auto dy = operand(n.dy);
    add_weight_gradient(dw2, dy, a);
    at::Tensor dx;
    if (need_inner) {
      const auto inner = operand_product(dy, w2, u.scalar_type());
      const Projected p{shape[1], ctx->saved_data["heads"].toInt(), !given(read)};
      const double scale = ctx->saved_data["scale"].toDouble();
      at::Tensor du, duq;
      if (const auto form = ManyForm(ctx->saved_data["form"].toInt()); form != ManyForm::none) {
        ManyTokens many{form, p.batch, p.heads, scale, uq, u, given(read), saved[18], saved[19], saved[20]};
        many.backward(a, inner, db);
        du = many.du;
        duq = many.duq;
      } else {
        auto pass = p.attention(uq, u, dense_members(qkv_b), mask, scale);
        du = at::empty_like(u);
        duq = given(read) ? at::empty_like(uq) : du;
        p.gradients(pass, duq, du);
        const auto sums = need_b ? at::empty({shape[0], shape[1], 1, 3 * D}, of_sums(u)) : at::Tensor();
        if (need_b) {
          pass.dq_sum = part_as_heads(sums, 0, p.heads);
          pass.dk_sum = part_as_heads(sums, 1, p.heads);
          pass.dv_sum = part_as_heads(sums, 2, p.heads);
        }
        pass.backward(p.part(inner, 0, 1));
        if (need_b) add_sums(sums, {db});
      }
      du = operand(du);
      if (!given(read)) {
        add_weight_gradient(dw1, du, x);
        if (need_x) add_product_(dx = n.ds, du, w1);
      } else {
        duq = operand(duq);
        add_weight_gradient(dw1.columns(0, D), duq, asks);
        add_weight_gradient(dw1.columns(D, 2 * D), du, x);
        if (need_x) {
          add_product_(n.ds, duq, w1.narrow(1, 0, D));
          dx = operand_product(du, w1.narrow(1, D, 2 * D));
          dx.view(shape).scatter_add_(2, token_index(read, D), n.ds.view({shape[0], shape[1], read.size(2), D}));
        }
      }
    }
    return {dx.defined() ? at::_unsafe_view(dx, shape) : dx,
            dw1.result(),
            db.result(),
            dw2.result(),
            n.dy_bias,
            {},
            {},
            n.dgain,
            n.dbias,
            n.dtable,
            {},
            {},
            {},
            {},
            {},
            {}};
  }

  // How the products lie: queries in uq [E,B M,D], keys and values in u [E,B N,2D]; or, where they
  // are one, all three in [E,B N,3D].
  struct Projected {
    int64_t batch, heads;
    bool one;

    // Part `part` of y [E,rows,parts D] as [E,B,H,tokens,Dh].
    at::Tensor part(const at::Tensor& y, int64_t part, int64_t parts) const {
      return part_as_heads(y.view({y.size(0), batch, y.size(1) / batch, y.size(2)}), part, heads, parts);
    }

    AttentionPass attention(const at::Tensor& uq, const at::Tensor& u, const at::Tensor& b, const at::Tensor& mask,
                            double scale) const {
      AttentionPass a;
      a.q = part(uq, 0, one ? 3 : 1);
      a.k = part(u, one ? 1 : 0, one ? 3 : 2);
      a.v = part(u, one ? 2 : 1, one ? 3 : 2);
      a.mask = mask;
      a.scale = scale;
      if (given(b)) {
        a.q_bias = bias(b, 0, a.q);
        a.k_bias = bias(b, 1, a.k);
        a.v_bias = bias(b, 2, a.v);
      }
      return a;
    }

    // Room for the pass's gradients, as the products lie.
    void gradients(AttentionPass& a, const at::Tensor& duq, const at::Tensor& du) const {
      a.dq = part(duq, 0, one ? 3 : 1);
      a.dk = part(du, one ? 1 : 0, one ? 3 : 2);
      a.dv = part(du, one ? 2 : 1, one ? 3 : 2);
    }

    // Part `part` of the bias b [E,3D] of t [E,B,H,N,Dh], as [E,B,H,1,Dh].
    at::Tensor bias(const at::Tensor& b, int64_t part, const at::Tensor& t) const {
      const int64_t Dh = t.size(4);
      return b.narrow(1, part * heads * Dh, heads * Dh)
          .view({b.size(0), 1, heads, 1, Dh})
          .expand({t.size(0), t.size(1), heads, 1, Dh});
    }
  };
};

}  // namespace

Normed mlp_block_on_gpu(const MLPBlock& b) {
  at::Tensor out16;
  const auto out = MLPOnGpu::apply(b.x, b.in_w, b.in_b, b.out_w, b.out_b, b.norm.gain, b.norm.bias, b.norm.table,
                                   &b.x16, &out16, b.norm.eps, at::GradMode::is_enabled());
  return {out, out16};
}

Normed attention_block_on_gpu(const AttentionBlock& b) {
  // Libtorch 1.13 takes no undefined ones.
  const auto none = [&](at::ScalarType type) { return at::empty({0}, b.x.options().dtype(type).requires_grad(false)); };
  const auto mask = b.mask.defined()
                        ? b.mask.detach().expand({b.x.size(0), b.x.size(1), b.heads, b.x.size(2), b.x.size(2)})
                        : none(b.x.scalar_type());
  at::Tensor out16;
  const auto out = AttentionBlockOnGpu::apply(b.x, b.qkv_w, b.qkv_b, b.out_w, b.out_b, mask,
                                              b.read.defined() ? b.read : none(at::kLong), b.norm.gain, b.norm.bias,
                                              b.norm.table, &b.x16, &out16, b.heads, b.scale, b.norm.eps,
                                              at::GradMode::is_enabled());
  return {out, out16};
}

}  // namespace torchpe
