// attention_products.cc: attention over many tokens as batched products with a softmax of our own
// between, in chunks whose logits stay in a GPU's cache: two products and a kernel forward, five and
// a kernel backward.
#include "gpu_parts.h"

namespace torchpe {

namespace {

// Bytes of logits, and of their gradients beside them, at a time: in the 50 MB of an H100's cache.
constexpr int64_t LOGITS_MOST = 32 << 20;

// A chunk is the same head of some samples. Its matrices are one stride apart, so cuBLAS multiplies
// them in one call and in place; across heads and samples there is no such stride.
struct Chunk {
  int64_t head, first, count;
  at::Tensor of(const at::Tensor& t) const { return t.select(2, head).narrow(0, first, count); }
};

// Calls f with each chunk and room for `arrays` of its logits, [chunk,N,M] each. Rows start at
// multiples of 4 numbers, from which cuBLAS can load 16 bytes at a time.
template <class F>
void in_chunks(const AttentionProducts& a, int64_t arrays, F&& f) {
  const int64_t S = a.q.size(0), H = a.q.size(2), N = a.q.size(1), M = a.k.size(1), row = (M + 3) / 4 * 4;
  const int64_t fit = LOGITS_MOST / (arrays * N * row * int64_t(a.q.element_size())),
                per = std::max<int64_t>(1, std::min(fit, S));
  const auto room = at::empty({arrays, per, N, row}, a.q.options()).narrow(3, 0, M);
  for (int64_t h = 0; h < H; h++)
    for (int64_t s = 0; s < S; s += per) {
      const Chunk c{h, s, std::min(per, S - s)};
      f(c, room.narrow(1, 0, c.count));
    }
}

// w [n,N,M] becomes its softmax, and d, if it is defined, w's gradient, the logits'.
void softmax_(const at::Tensor& w, const at::Tensor& d, double scale) {
  const OnDevice here(w);
  TORCHPE_DISPATCH(w, [&] {
    GpuSoftmax<T> a = {};
    a.rows = w.size(0) * w.size(1);
    a.cols = w.size(2);
    a.row = w.stride(1);
    a.scale = scale;
    a.w = address<T>(w);
    a.d = address<T>(d);
    gpu_kernels<T>(w).softmax(here, a);
  });
}

at::Tensor turned(const at::Tensor& t) { return t.transpose(1, 2); }

}  // namespace

void AttentionProducts::forward(const at::Tensor& out) const {
  in_chunks(*this, 1, [&](const Chunk& c, const at::Tensor& room) {
    const auto w = room[0];
    add_product_(w, c.of(q), turned(c.of(k)), true);
    softmax_(w, {}, scale);
    add_product_(c.of(out), w, c.of(v), true);
  });
}

void AttentionProducts::backward(const at::Tensor& dout) const {
  in_chunks(*this, 2, [&](const Chunk& c, const at::Tensor& room) {
    const auto w = room[0], d = room[1];
    add_product_(w, c.of(q), turned(c.of(k)), true);
    add_product_(d, c.of(dout), turned(c.of(v)), true);
    softmax_(w, d, scale);
    if (dv.defined()) add_product_(c.of(dv), turned(w), c.of(dout), true);
    if (dq.defined()) add_product_(c.of(dq), d, c.of(k), true);
    if (dk.defined()) add_product_(c.of(dk), turned(d), c.of(q), true);
  });
}

}  // namespace torchpe
