// product.h: batched products, and the precision of their float32 operands, which tp_set_precision sets.
#pragma once
#include "fused.h"

namespace torchpe {

enum class Precision { fp32 = 0, tf32 = 1, bf16 = 2 };
Precision precision();

// Whether products of operands like t are less precise than float32, in operand() and
// operand_product().
bool rounds_operands(const at::Tensor& t);

// x with mantissas of 10 bits (tf32) or 7 (bf16), the nearest, of two the even one; x float32 on
// the CPU. Without a gradient.
at::Tensor rounded(const at::Tensor& x, Precision to);
// The same in place of n numbers.
void round_numbers(float* x, int64_t n, Precision to);

// x as products take it: x itself (a GPU rounds to tf32 as it multiplies), rounded, or in bfloat16,
// where a product of bfloat16 with a float32 result exists. Without a gradient where it is another
// tensor.
at::Tensor operand(const at::Tensor& x);

// The type in which operand() gives x, and in which wide tensors beside x are stored.
at::ScalarType operand_type(const at::Tensor& x);

// Products of operands, without a gradient: a [E,n,k], b [E,k,m] -> [E,n,m]. Of bfloat16 they are
// float32, or rounded to bfloat16 where that is `stored`. A row or a column of each matrix must be
// dense.
at::Tensor operand_product(const at::Tensor& a, const at::Tensor& b, at::ScalarType stored = at::kFloat);
// c += a b, or c = a b where c holds nothing yet; c is not of bfloat16
void add_product_(at::Tensor c, const at::Tensor& a, const at::Tensor& b, bool first = false);

// Whether a GPU's products of bfloat16 with float32 results were built in (cuBLAS was found).
bool has_bf16_products();

// The product of a [E,n,k] and b [E,k,m] with a gradient, all of whose operands are rounded.
at::Tensor rounded_product(const at::Tensor& a, const at::Tensor& b);

}  // namespace torchpe
