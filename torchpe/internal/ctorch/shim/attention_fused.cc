// attention_fused.cc: softmax(scale q k^T + bias) v for many tokens.
//
// In the composed form, each head's logits and weights [N,M] are written and read several times,
// which costs more than the products. Here blocks of rows are processed from queries to output
// while they are in cache. The forward pass keeps the largest logit and the sum of exponentials of
// each row. It also keeps the exponentials if they need little memory; else the backward pass
// computes them again, with identical bits. One thread processes a whole head, so results do not
// depend on the number of threads.
#include <ATen/ExpandUtils.h>

#include "heads.h"
#include "operands.h"
#include "product.h"

using namespace torchpe;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// Rows worked on together, a multiple of the 4 or 6 that a product holds in registers: two blocks
// of 360 logits each, with packed keys and values, fit a second-level cache of 512 KiB.
constexpr int64_t BLOCK = 48;

// The sizes of one attention: E*B*H heads of N queries and M keys of width D to values of width Dv.
struct Sizes {
  Sizes(const at::Tensor& q, const at::Tensor& v)
      : heads(q.size(0) * q.size(1) * q.size(2)), N(q.size(3)), M(v.size(3)), D(q.size(4)), Dv(v.size(4)) {}
  int64_t heads, N, M, D, Dv;
};

// Exponentials of at most this many keys for each of a query's D numbers are kept: fewer numbers than
// the rest of a transformer's block keeps of a token.
constexpr int64_t KEYS_KEPT = 8;

// A block [BLOCK,M] of logits: columns to compute, a whole number of vectors, and the distance of
// its rows, an odd number of cache lines, so that a column does not fall into few sets of the
// cache.
template <typename T>
struct Block {
  explicit Block(int64_t M)
      : columns(std::min(up(M, Arena<T>::LINE), up(M, kernels<T>().panel))), row(up(columns, Arena<T>::LINE)) {
    if (row / Arena<T>::LINE % 2 == 0) row += Arena<T>::LINE;
  }
  int64_t size() const { return BLOCK * row; }
  int64_t columns, row;
};

// The bias of the logits, [E,B,H,N,M] with dense rows, or none.
template <typename T>
struct Bias {
  explicit Bias(const at::Tensor& t) : given(torchpe::given(t)) {
    if (given) heads.emplace(t);
  }
  const T* at(int64_t i, int64_t row) const { return given ? heads->at(i) + row * heads->row() : nullptr; }
  int64_t row() const { return given ? heads->row() : 0; }
  bool given;
  c10::optional<Heads<T>> heads;
};

// Memory for exponentials [heads,N,row of a block], or an empty tensor where they are not kept.
at::Tensor kept_exponentials(const at::Tensor& q, const at::Tensor& v, bool keep) {
  const Sizes n(q, v);
  if (!keep || n.M > KEYS_KEPT * n.D) return at::empty({0}, q.options());
  at::Tensor e;
  TORCHPE_DISPATCH(q, [&] { e = at::empty({n.heads, n.N, Block<T>(n.M).row}, q.options()); });
  return e;
}

// out; of each row of each head the largest logit and 1 / the sum of exponentials: stats [heads,2,N]; and
// the exponentials, where they are kept.
template <typename T>
void attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& b, double scale,
            const at::Tensor& out, const at::Tensor& stats, const at::Tensor& exponentials) {
  const auto& f = kernels<T>();
  const Heads<T> Q(q), K(k), V(v), O(out);
  const Bias<T> bias(b);
  const Sizes n(q, v);
  const Block<T> block(n.M);
  T *const kept = stats.data_ptr<T>(), *const all = given(exponentials) ? exponentials.data_ptr<T>() : nullptr;
  in_parallel(0, n.heads, 1, [&](int64_t begin, int64_t end) {
    const int64_t keys = packed_size<T>(n.D, n.M), values = packed_size<T>(n.M, n.Dv);
    Arena<T> arena(block.size() + keys + values + 3 * Arena<T>::LINE);
    T *const one = arena.take(block.size()), *const key_memory = arena.take(keys),
      *const value_memory = arena.take(values);
    for (int64_t i = begin; i < end; i++) {
      const auto keys_across = f.pack(n.N, n.D, n.M, K.at(i), 1, K.row(), key_memory);
      const auto value_rows = f.pack(n.N, n.M, n.Dv, V.at(i), V.row(), 1, value_memory);
      for (int64_t r = 0; r < n.N; r += BLOCK) {
        const int64_t rows = std::min(BLOCK, n.N - r);
        T* const s = all ? all + (i * n.N + r) * block.row : one;
        T *const most = kept + 2 * i * n.N + r, *const over = most + n.N, *const o = O.at(i) + r * O.row();
        f.product(rows, n.D, block.columns, Q.at(i) + r * Q.row(), Q.row(), 1, keys_across, s, block.row, false);
        f.softmax(rows, n.M, s, block.row, T(scale), bias.at(i, r), bias.row(), most, over);
        f.product(rows, n.M, n.Dv, s, block.row, 1, value_rows, o, O.row(), false);
        f.scale_rows(rows, n.Dv, o, O.row(), over);
      }
    }
  });
}

// What the backward pass reads and writes. dbias is dense, or undefined where it is not wanted.
struct Backward {
  at::Tensor q, k, v, bias, out, stats, exponentials, d;
  double scale;
  AttentionGradients to;
  at::Tensor dbias;

  template <typename T>
  void compute() const;
};

// With w the weights and d the gradient of out: dv = w^T d, dw = d v^T, ds = w (dw - rowsum(d
// out)), dq = scale ds k, dk = scale ds^T q and dbias = ds.
template <typename T>
void Backward::compute() const {
  const auto &dq = to.dq, &dk = to.dk, &dv = to.dv;
  const auto& f = kernels<T>();
  const Heads<T> Q(q), K(k), V(v), O(out), Do(d), Dq(dq.defined() ? dq : q), Dk(dk.defined() ? dk : k),
      Dvalues(dv.defined() ? dv : v);
  const Bias<T> b(bias);
  const Sizes n(q, v);
  const T* const all = given(exponentials) ? exponentials.data_ptr<T>() : nullptr;
  const Block<T> block(n.M);
  const T* const kept = stats.data_ptr<T>();
  T* const trains = dbias.defined() ? dbias.data_ptr<T>() : nullptr;
  in_parallel(0, n.heads, 1, [&](int64_t begin, int64_t end) {
    const int64_t keys = packed_size<T>(n.D, n.M), values = packed_size<T>(n.Dv, n.M),
                  rows_of_keys = packed_size<T>(n.M, n.D);
    const int64_t queries = packed_size<T>(BLOCK, n.D), outs = packed_size<T>(BLOCK, n.Dv);
    Arena<T> arena(2 * block.size() + keys + values + rows_of_keys + queries + outs + BLOCK + 8 * Arena<T>::LINE);
    T *const s = arena.take(block.size()), *const ds = arena.take(block.size()), *const dots = arena.take(BLOCK);
    T *const key_memory = arena.take(keys), *const value_memory = arena.take(values);
    T* const key_row_memory = arena.take(rows_of_keys);
    T *const query_memory = arena.take(queries), *const gradient_memory = arena.take(outs);
    for (int64_t i = begin; i < end; i++) {
      Panels<T> keys_across = {};
      if (!all) keys_across = f.pack(n.N, n.D, n.M, K.at(i), 1, K.row(), key_memory);
      const auto values_across = f.pack(n.N, n.Dv, n.M, V.at(i), 1, V.row(), value_memory);
      Panels<T> key_rows = {};
      if (dq.defined()) key_rows = f.pack(n.N, n.M, n.D, K.at(i), K.row(), 1, key_row_memory);
      for (int64_t r = 0; r < n.N; r += BLOCK) {
        const int64_t rows = std::min(BLOCK, n.N - r);
        const T *const most = kept + 2 * i * n.N + r, *const over = most + n.N;
        const T *const qr = Q.at(i) + r * Q.row(), *const dr = Do.at(i) + r * Do.row();
        if (!all) f.product(rows, n.D, block.columns, qr, Q.row(), 1, keys_across, s, block.row, false);
        f.product(rows, n.Dv, block.columns, dr, Do.row(), 1, values_across, ds, block.row, false);
        f.row_dots(rows, n.Dv, dr, Do.row(), O.at(i) + r * O.row(), O.row(), dots);
        f.softmax_backward(rows, n.M, s, ds, block.row, all ? all + (i * n.N + r) * block.row : nullptr, T(scale),
                           b.at(i, r), b.row(), most, over, dots);
        for (int64_t j = 0; trains && j < rows; j++) {
          T* const to = trains + (i * n.N + r + j) * n.M;
          std::fill_n(to, n.M, T(0));
          f.add_scaled(n.M, ds + j * block.row, T(1 / scale), to);
        }
        if (dq.defined())
          f.product(rows, n.M, n.D, ds, block.row, 1, key_rows, Dq.at(i) + r * Dq.row(), Dq.row(), false);
        if (dk.defined()) {
          const auto queries_here = f.pack(n.M, rows, n.D, qr, Q.row(), 1, query_memory);
          f.product(n.M, rows, n.D, ds, 1, block.row, queries_here, Dk.at(i), Dk.row(), r > 0 || to.add_dk);
        }
        if (dv.defined()) {
          const auto gradients_here = f.pack(n.M, rows, n.Dv, dr, Do.row(), 1, gradient_memory);
          f.product(n.M, rows, n.Dv, s, 1, block.row, gradients_here, Dvalues.at(i), Dvalues.row(),
                    r > 0 || to.add_dv);
        }
      }
    }
  });
}

struct AttentionFunction : torch::autograd::Function<AttentionFunction> {
  // With `tokens`, k_in [E,B,M,D] are keys, and values where v_in is not given, and are returned too.
  static variable_list forward(AutogradContext* ctx, const at::Tensor& q_in, const at::Tensor& k_in,
                               const at::Tensor& v_in, const at::Tensor& bias, double scale, bool tokens,
                               bool keep) {
    const auto q = dense_rows(q_in), k = dense_rows(tokens ? k_in.unsqueeze(2) : k_in),
               v = given(v_in) ? dense_rows(v_in) : k;
    auto out = empty_tokens_first(q.size(0), q.size(1), q.size(2), q.size(3), v.size(4), q.options());
    auto stats = at::empty({q.size(0) * q.size(1) * q.size(2), 2, q.size(3)}, q.options());
    const auto exponentials = kept_exponentials(q, v, keep);
    TORCHPE_DISPATCH(q, [&] { attend<T>(q, k, v, bias, scale, out, stats, exponentials); });
    ctx->save_for_backward({q, k, v, bias, out, stats, exponentials});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["tokens"] = tokens;
    ctx->saved_data["one"] = !given(v_in);
    ctx->set_materialize_grads(false);
    return tokens ? variable_list{out, k_in} : variable_list{out};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    if (!grads[0].defined()) return {{}, grads.size() > 1 ? grads[1] : at::Tensor(), {}, {}, {}, {}, {}};
    const AttentionGradients to(ctx, saved[0], saved[1], saved[2], grads);
    const auto dbias =
        ctx->needs_input_grad(3) ? at::empty(saved[3].sizes(), saved[3].options()) : at::Tensor();
    const Backward b{saved[0],
                     saved[1],
                     saved[2],
                     saved[3],
                     saved[4],
                     saved[5],
                     saved[6],
                     dense_rows(grads[0]),
                     ctx->saved_data["scale"].toDouble(),
                     to,
                     dbias};
    TORCHPE_DISPATCH(b.q, [&] { b.compute<T>(); });
    return {to.dq, to.of_1, to.of_2, dbias, {}, {}, {}};
  }
};

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#define TORCHPE_SDPA
// In deterministic mode libtorch warns of operators that have no deterministic form (see
// tp_set_deterministic), and its attention then takes forms that add gradients in no fixed order,
// though it has others. The hooks make the mode strict while its backward pass runs.
void set_strict(bool on) { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/!on); }

struct BeginStrict : torch::autograd::FunctionPreHook {
  variable_list operator()(const variable_list& grads) override {
    set_strict(true);
    return grads;
  }
};

struct EndStrict : torch::autograd::FunctionPostHook {
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    set_strict(false);
    return outputs;
  }
};

void make_backward_repeat(const at::Tensor& y) {
  if (!at::globalContext().deterministicAlgorithms()) return;
  // Views may follow the attention where it pads the width of heads.
  for (auto node = y.grad_fn(); node; node = node->num_outputs() > 0 ? node->next_edge(0).function : nullptr) {
    if (node->name().find("ScaledDotProduct") == std::string::npos) continue;
    node->add_pre_hook(std::make_unique<BeginStrict>());
    node->add_post_hook(std::make_unique<EndStrict>());
    return;
  }
}

// libtorch's own fused attention for many tokens. On a GPU it picks the fastest of its forms that
// takes the type and the bias; a row whose keys are all hidden may be 0 rather than NaN. In
// bfloat16 the result is rounded once more, to bfloat16.
at::Tensor attention_of_libtorch(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias,
                                 double scale, bool bf16) {
  const auto type = bf16 ? at::kBFloat16 : q.scalar_type();
  const auto flat = [&](const at::Tensor& t) {
    return t.reshape({t.size(0) * t.size(1), t.size(2), t.size(3), t.size(4)}).to(type);
  };
  c10::optional<at::Tensor> mask;
  if (given(bias)) mask = flat(bias);
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 5
  // cuDNN's form of bfloat16 has read beyond its operands at numbers of tokens like 360.
  if (q.is_cuda()) at::globalContext().setSDPUseCuDNN(false);
#endif
  const auto y = at::scaled_dot_product_attention(flat(q), flat(k), flat(v), mask, 0.0, false, scale);
  make_backward_repeat(y);
  return y.to(q.scalar_type()).view({q.size(0), q.size(1), q.size(2), q.size(3), v.size(4)});
}
#endif

// bias as [E,B,H,N,M] with dense rows; what it broadcasts over the leading axes is not copied.
at::Tensor bias_rows(const at::Tensor& bias, at::IntArrayRef shape) {
  auto s = bias.sizes().vec();
  s.insert(s.begin(), size_t(std::max<int64_t>(0, 2 - bias.dim())), 1);
  s[s.size() - 2] = shape[3];
  s[s.size() - 1] = shape[4];
  return dense_rows(bias.expand(s)).expand(shape);
}

// Whether attention of q over so many keys is worked on in blocks of rows.
bool in_blocks(const at::Tensor& q, int64_t keys) { return q.size(3) * q.size(4) * keys > SMALL_PRODUCT; }

}  // namespace

namespace torchpe {

variable_list attention_over(const at::Tensor& q, const at::Tensor& x, const at::Tensor& v, const at::Tensor& bias,
                             double scale) {
  const auto none = at::empty({0}, x.options().requires_grad(false)), values = v.defined() ? v : none;
  const int64_t shape[] = {q.size(0), q.size(1), 1, q.size(3), x.size(2)};
  const auto rows = bias.defined() ? bias_rows(bias.detach(), shape) : none;
  return in_blocks(q, x.size(2)) ? AttentionFunction::apply(q, x, values, rows, scale, true, at::GradMode::is_enabled())
                                 : attention_over_few(q, x, values, rows, scale);
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& bias,
                     double scale) {
  check_heads("attention", q, k, true);
  TORCH_CHECK(v.dim() == 5 && v.sizes().slice(0, 4) == k.sizes().slice(0, 4), "attention with keys ", k.sizes(),
              " and values ", v.sizes(), "; expected [E,B,H,M,Dh] and [E,B,H,M,Dv]");
  check_same("attention", q, v);
  const std::vector<int64_t> shape = {q.size(0), q.size(1), q.size(2), q.size(3), k.size(3)};
  const bool biased = bias.defined();
  if (biased) {
    TORCH_CHECK(at::is_expandable_to(bias.sizes(), shape), "attention with bias ", bias.sizes(),
                "; expected one that broadcasts to [E,B,H,N,M] = ", at::IntArrayRef(shape));
    check_same("attention's bias", q, bias);
  }
  const bool keep = at::GradMode::is_enabled();
  const bool any = q.numel() > 0 && v.numel() > 0,
             constant = !(at::GradMode::is_enabled() && biased && bias.requires_grad());
  const bool few = few_tokens(q.size(3), k.size(3), q.size(4), v.size(4)), many = in_blocks(q, k.size(3));
  if (any && constant) {
    // Autograd functions of libtorch 1.13 take no undefined tensors.
    const auto none = at::empty({0}, q.options().requires_grad(false));
    const auto expanded = [&] { return biased ? bias.detach().expand(shape) : none; };
    if (use_kernels(q) && few) return attention_on_gpu(q, k, v, expanded(), scale);
#ifdef TORCHPE_SDPA
    const auto form = few || biased ? ManyForm::none : many_form(q, q.size(4));
    const bool less = rounds_operands(q) && !few,
               bf16 = form == ManyForm::flash || (less && precision() == Precision::bf16);
    const bool emulates = use_kernels(q) && (!less || bf16);  // libtorch's has no tf32 on the CPU
    if (q.is_cuda() ? fused_form() != 0 : emulates) return attention_of_libtorch(q, k, v, expanded(), scale, bf16);
#endif
    if (use_loops(q) && (few || !rounds_operands(q))) {
      const auto rows = biased ? bias_rows(bias.detach(), shape) : none;
      return many ? AttentionFunction::apply(q, k, v, rows, scale, false, keep)[0]
                  : attention_of_few(q, k, v, rows, scale);
    }
  } else if (any && many && scale != 0 && use_loops(q) && !rounds_operands(q)) {
    return AttentionFunction::apply(q, k, v, bias_rows(bias, shape), scale, false, keep)[0];
  }
  auto logits = attention_logits(q, k, scale);
  return attention_values(softmax(biased ? logits + bias : logits), v);
}

}  // namespace torchpe

namespace {

const Operators attention_row{OPERATOR("Attention", attention(o[0], o[1], o[2], o.optional(3), o.number(0)))};

}  // namespace
