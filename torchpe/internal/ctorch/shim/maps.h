// maps.h: shared by the CPU loops of linear maps.
#pragma once
#include "fused.h"

namespace torchpe {

// The right operand of products of `rows` rows, packed once for all of them: a weight w [O,I].
template <typename T>
class PackedWeight {
 public:
  // w^T [I,O], for the map itself, or w, for the gradient of its input.
  enum Side { transposed, plain };
  PackedWeight(int64_t rows, int64_t O, int64_t I, const T* w, Side side) : memory_(size(O, I)) {
    const auto& k = kernels<T>();
    T* const to = memory_.take(size(O, I));
    panels_ = side == transposed ? k.pack(rows, I, O, w, 1, I, to) : k.pack(rows, O, I, w, I, 1, to);
  }
  operator Panels<T>() const { return panels_; }

 private:
  static int64_t size(int64_t O, int64_t I) { return std::max(packed_size<T>(I, O), packed_size<T>(O, I)); }

  Arena<T> memory_;
  Panels<T> panels_;
};

// A part of the gradient of w [O,I]: dw[first..last) += du^T x over `rows` rows of du [rows,O] and x
// [rows,I].
template <typename T>
void add_weight_gradient(int64_t rows, int64_t O, int64_t I, const T* du, const T* x, T* dw, int64_t first,
                         int64_t last) {
  const auto& k = kernels<T>();
  thread_local std::vector<T> memory;
  if (const auto size = size_t(packed_size<T>(rows, I)); memory.size() < size) memory.resize(size);
  const auto inputs = k.pack(last - first, rows, I, x, I, 1, memory.data());
  k.product(last - first, rows, I, du + first, 1, O, inputs, dw + first * I, I, true);
}

// The same over all rows, in chunks, by all threads: the sums are those of add_weight_gradient chunk
// by chunk.
template <typename T>
void add_weight_gradient_in_parallel(int64_t rows, int64_t O, int64_t I, const T* du, const T* x, T* dw) {
  in_parallel(0, O, 48, [&](int64_t first, int64_t last) {
    for (int64_t r = 0; r < rows; r += ROW_CHUNK)
      add_weight_gradient(std::min(rows - r, ROW_CHUNK), O, I, du + r * O, x + r * I, dw, first, last);
  });
}

}  // namespace torchpe
