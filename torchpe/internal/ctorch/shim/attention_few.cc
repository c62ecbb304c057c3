// attention_few.cc: softmax(scale q k^T + bias) v for few tokens on the CPU, one group of heads at
// a time, so that their logits stay in cache between the two products, forward and backward. The
// weights are kept, in rows of whole vectors.
#include <limits>

#include "heads.h"

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace torchpe {

namespace {

// Heads that go through each step together: one alone, whose rows lie like those written for the head
// before it, waits for these.
constexpr int64_t GROUP = 32;

struct Sizes {
  int64_t heads, N, M, D, Dv;  // E*B*H heads of N queries and M keys of width D to values of width Dv
  Sizes(const at::Tensor& q, const at::Tensor& v)
      : heads(q.size(0) * q.size(1) * q.size(2)), N(q.size(3)), M(v.size(3)), D(q.size(4)), Dv(v.size(4)) {}
};

// What is added to a head's logits [N,padded]: its bias, and -inf behind the last key.
template <typename T>
class Added {
 public:
  Added(const Sizes& n, int64_t padded)
      : n_(n), padded_(padded), rows_(size_t(n.N * padded), -std::numeric_limits<T>::infinity()) {
    for (int64_t r = 0; r < n.N; r++) std::fill_n(rows_.data() + r * padded, n.M, T(0));
  }
  // Sets the bias of the next head, which is mostly that of the head before.
  void set(const T* bias, int64_t row) {
    if (bias == last_) return;
    last_ = bias;
    for (int64_t r = 0; r < n_.N; r++) std::copy_n(bias + r * row, n_.M, rows_.data() + r * padded_);
  }
  void to(T* logits) const { kernels<T>().add_bias(1, n_.N * padded_, logits, rows_.data()); }

 private:
  const Sizes& n_;
  int64_t padded_;
  std::vector<T> rows_;
  const T* last_ = nullptr;
};

template <typename T>
void attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias, double scale,
            const at::Tensor& weights, const at::Tensor& out) {
  const Heads<T> Q(q), K(k), V(v), W(weights), O(out);
  const bool biased = given(bias);
  const Heads<T> B(biased ? bias : weights);
  const Sizes n(q, v);
  in_parallel(0, n.heads, 16, [&](int64_t begin, int64_t end) {
    const auto& f = kernels<T>();
    TransposedProduct<T> product(n.N, n.D, n.M);
    const int64_t padded = product.padded();
    Added<T> added(n, padded);
    const int64_t head = n.N * padded;
    Arena<T> arena(GROUP * head);
    T* const logits = arena.take(GROUP * head);
    for (int64_t first = begin; first < end; first += GROUP) {
      const int64_t count = std::min(end - first, GROUP);
      for (int64_t j = 0; j < count; j++) {
        const int64_t i = first + j;
        product.run(Q.at(i), Q.row(), K.at(i), K.row(), T(scale), logits + j * head, padded);
        if (biased) added.set(B.at(i), B.row());
        added.to(logits + j * head);
      }
      f.softmax_rows(count * n.N, padded, logits, W.at(first));
      for (int64_t i = first; i < first + count; i++)
        f.small_product(n.N, n.M, n.Dv, W.at(i), padded, 1, V.at(i), V.row(), T(1), O.at(i), O.row(), false);
    }
  });
}

struct Backward {
  at::Tensor q, k, v, weights, d;
  double scale;
  AttentionGradients to;

  template <typename T>
  void compute() const {
    const auto &dq = to.dq, &dk = to.dk, &dv = to.dv;
    const Heads<T> Q(q), K(k), V(v), W(weights), D(d), Dq(dq.defined() ? dq : q), Dk(dk.defined() ? dk : k),
        Dvalues(dv.defined() ? dv : v);
    const Sizes n(q, v);
    in_parallel(0, n.heads, 16, [&](int64_t begin, int64_t end) {
      const auto& f = kernels<T>();
      TransposedProduct<T> product(n.N, n.Dv, n.M);
      const int64_t padded = product.padded();
      const int64_t head = n.N * padded;
      Arena<T> arena(2 * GROUP * head + Arena<T>::LINE);
      T *const dw = arena.take(GROUP * head), *const ds = arena.take(GROUP * head);
      for (int64_t first = begin; first < end; first += GROUP) {
        const int64_t last = std::min(end, first + GROUP);
        const auto each = [&](const auto& f) {
          for (int64_t i = first; i < last; i++) f(i, (i - first) * head);
        };
        each([&](int64_t i, int64_t at) { product.run(D.at(i), D.row(), V.at(i), V.row(), T(1), dw + at, padded); });
        f.softmax_rows_backward((last - first) * n.N, padded, W.at(first), dw, ds);
        if (dq.defined())
          each([&](int64_t i, int64_t at) {
            f.small_product(n.N, n.M, n.D, ds + at, padded, 1, K.at(i), K.row(), T(scale), Dq.at(i), Dq.row(), false);
          });
        if (dk.defined())
          each([&](int64_t i, int64_t at) {
            f.small_product(n.M, n.N, n.D, ds + at, 1, padded, Q.at(i), Q.row(), T(scale), Dk.at(i), Dk.row(),
                            to.add_dk);
          });
        if (dv.defined())
          each([&](int64_t i, int64_t) {
            f.small_product(n.M, n.N, n.Dv, W.at(i), 1, padded, D.at(i), D.row(), T(1), Dvalues.at(i), Dvalues.row(),
                            to.add_dv);
          });
      }
    });
  }
};

struct FewFunction : torch::autograd::Function<FewFunction> {
  // With `tokens`, k_in [E,B,M,D] are keys, and values where v_in is not given, and are returned too.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                               const at::Tensor& v_in, const at::Tensor& bias, double scale, bool tokens) {
    const auto q = dense_rows(q_in), k = dense_rows(tokens ? k_in.unsqueeze(2) : k_in),
               v = given(v_in) ? dense_rows(v_in) : k;
    const auto out = empty_tokens_first(q.size(0), q.size(1), q.size(2), q.size(3), v.size(4), q.options());
    at::Tensor weights;
    TORCHPE_DISPATCH(q, [&] {
      weights = at::empty({q.size(0), q.size(1), q.size(2), q.size(3), up(k.size(3), Arena<T>::LINE)}, q.options());
      attend<T>(q, k, v, bias, scale, weights, out);
    });
    ctx->save_for_backward({q, k, v, weights});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["tokens"] = tokens;
    ctx->saved_data["one"] = !given(v_in);
    ctx->set_materialize_grads(false);
    return tokens ? variable_list{out, k_in} : variable_list{out};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    if (!grads[0].defined()) return {{}, grads.size() > 1 ? grads[1] : at::Tensor(), {}, {}, {}, {}};
    const AttentionGradients to(ctx, saved[0], saved[1], saved[2], grads);
    const Backward b{saved[0], saved[1], saved[2], saved[3], dense_rows(grads[0]), ctx->saved_data["scale"].toDouble(),
                     to};
    TORCHPE_DISPATCH(b.q, [&] { b.compute<T>(); });
    return {to.dq, to.of_1, to.of_2, {}, {}, {}};
  }
};

}  // namespace

at::Tensor attention_of_few(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias,
                            double scale) {
  return FewFunction::apply(q, k, v, bias, scale, false)[0];
}

variable_list attention_over_few(const at::Tensor& q, const at::Tensor& x, const at::Tensor& v, const at::Tensor& bias,
                                 double scale) {
  return FewFunction::apply(q, x, v, bias, scale, true);
}

}  // namespace torchpe
