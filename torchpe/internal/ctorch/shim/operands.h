// operands.h: the operators that Go calls by name, each a row of a table in the file that defines it.
#pragma once
#include "gpu.h"

namespace torchpe {

// Holds the tensors, integers and numbers that an operator is called with, each counted from 0. The Go
// method and the row agree on their order.
class Operands {
 public:
  Operands(at::ArrayRef<tp_tensor> tensors, at::IntArrayRef integers, at::ArrayRef<double> numbers)
      : tensors_(tensors), integers_(integers), numbers_(numbers) {}
  at::Tensor operator[](size_t k) const { return get(tensors_.at(k)); }       // throws where it is left out
  at::Tensor optional(size_t k) const { return get_or_none(tensors_.at(k)); }  // undefined where it is left out
  at::Tensor or_empty(size_t k, const at::Tensor& like) const {
    return tensors_.at(k) ? get(tensors_[k]) : at::empty({0}, like.options().requires_grad(false));
  }
  // What is kept beside a tensor (gpu.h), or undefined.
  at::Tensor beside(size_t k) const { return Handles::instance().beside(tensors_.at(k)); }
  std::vector<at::Tensor> all() const {
    std::vector<at::Tensor> ts;
    for (const auto h : tensors_) ts.push_back(get(h));
    return ts;
  }
  // Tensors all, index, values and slope from k on.
  TokenRows rows(size_t k) const {
    if (!(tensors_.at(k) || tensors_.at(k + 1) || tensors_.at(k + 2) || tensors_.at(k + 3))) return {};
    const auto all = (*this)[k], none = at::empty({0}, all.options().requires_grad(false));
    const bool scaled = tensors_[k + 2] || tensors_[k + 3];  // neither without the other
    return {all, (*this)[k + 1], scaled ? (*this)[k + 2] : none, scaled ? (*this)[k + 3] : none};
  }
  // Tensors gain, bias and table from k on.
  NormOperands norm(size_t k, double eps, const at::Tensor& like) const {
    return {(*this)[k], (*this)[k + 1], or_empty(k + 2, like), eps};
  }
  int64_t integer(size_t k) const { return integers_.at(k); }
  bool flag(size_t k) const { return integers_.at(k) != 0; }
  at::IntArrayRef integers(size_t from = 0) const {  // those from place `from` on
    TORCH_CHECK(from <= integers_.size(), "integers from ", from, " on of ", integers_.size());
    return integers_.slice(from);
  }
  double number(size_t k) const { return numbers_.at(k); }

 private:
  at::ArrayRef<tp_tensor> tensors_;
  at::IntArrayRef integers_;
  at::ArrayRef<double> numbers_;
};

// Holds the results of an operator: none, one, several, or a layer norm's, which keeps another beside it.
struct Results {
  Results() = default;
  Results(const at::Tensor& t) : tensors{t} {}
  Results(std::vector<at::Tensor> ts) : tensors(std::move(ts)) {}
  Results(const Normed& n) : tensors{n.out}, beside(n.out16) {}
  std::vector<at::Tensor> tensors;
  at::Tensor beside;
};

struct Operator {
  const char* name;
  Results (*run)(const Operands& o);
};

// A row whose operator is an expression of its operands o, and one of statements that returns nothing.
#define OPERATOR(name, ...) \
  { name, [](const Operands& o) -> Results { return __VA_ARGS__; } }
#define OPERATION(name, ...) \
  { name, [](const Operands& o) -> Results { __VA_ARGS__; return {}; } }

// Adds a file's operators to those that tp_op runs.
struct Operators {
  Operators(std::initializer_list<Operator> rows) { table().insert(table().end(), rows); }
  static std::vector<Operator>& table();
};

}  // namespace torchpe
