// ldmatrix and mma.sync: the lanes of a warp hold fragments of small matrices.
#include "values.h"

namespace ptx {
namespace {

void require_all(Warp& w, const Instr& in) {
  if (w.active != kAll) fail(w, in, "executed without all 32 lanes");
}

// n matrices of 8 x 8 values of 16 bits; lane 8 k + i holds the address of row i of matrix k. flags: transposed.
void load_matrices(Warp& w, const Instr& in) {
  require_all(w, in);
  const Block& block = *w.block;
  const int32_t* list = &block.kernel->pool[in.list];
  const uint64_t* a = w.in(in.a);
  uint16_t values[4][8][8];
  for (int k = 0; k < in.n; k++)
    for (int row = 0; row < 8; row++) {
      uint32_t address = uint32_t(a[8 * k + row]) + uint32_t(in.imm);
      if (address % 16 || address >= block.shared_size || block.shared_size - address < 16)
        fail(w, in, "row outside shared memory, or misaligned: address " + std::to_string(address), 8 * k + row);
      std::memcpy(values[k][row], block.shared + address, 16);
    }
  for (int k = 0; k < in.n; k++) {
    uint64_t* d = w.out(list[k]);
    for (int lane = 0; lane < kLanes; lane++) {
      const int row = lane / 4, column = lane % 4 * 2;
      if (in.flags) d[lane] = values[k][column][row] | uint32_t(values[k][column + 1][row]) << 16;
      else d[lane] = values[k][row][column] | uint32_t(values[k][row][column + 1]) << 16;
    }
  }
}

// Fragment layouts: A is 16 x K, B is K x 8, C and D are 16 x 8. A register holds Per consecutive values of K.
template <int K>
struct Tiles {
  double a[16][K], b[K][8], c[16][8];
};

template <class T>
double element(uint32_t bits, int which) {
  if constexpr (std::is_same_v<T, Tf32>) return bits_to<float>(bits & 0xFFFFE000);
  else return As<T>::get(bits >> (16 * which));
}

template <class T, int K>
void read_tiles(Warp& w, const int32_t* a, const int32_t* b, Tiles<K>& tiles) {
  constexpr int per = std::is_same_v<T, Tf32> ? 1 : 2, half = 4 * per;
  for (int r = 0; r < 16 * K / (32 * per); r++) {
    const uint64_t* bits = w.in(a[r]);
    for (int lane = 0; lane < kLanes; lane++)
      for (int e = 0; e < per; e++)
        tiles.a[lane / 4 + r % 2 * 8][lane % 4 * per + e + r / 2 * half] = element<T>(uint32_t(bits[lane]), e);
  }
  for (int r = 0; r < 8 * K / (32 * per); r++) {
    const uint64_t* bits = w.in(b[r]);
    for (int lane = 0; lane < kLanes; lane++)
      for (int e = 0; e < per; e++) tiles.b[lane % 4 * per + e + r * half][lane / 4] = element<T>(uint32_t(bits[lane]), e);
  }
}

// The products are exact in a double, so it makes no difference whether a processor fuses them with the sums.
#if defined(__x86_64__)
__attribute__((optimize("O3"), target_clones("arch=haswell", "default")))
#endif
void multiply_into(double* __restrict c, const double* __restrict a, const double* __restrict b, int K) {
  for (int i = 0; i < 16; i++) {
    double sums[8];
    for (int j = 0; j < 8; j++) sums[j] = c[8 * i + j];
    for (int k = 0; k < K; k++)
      for (int j = 0; j < 8; j++) sums[j] += a[K * i + k] * b[8 * k + j];
    for (int j = 0; j < 8; j++) c[8 * i + j] = sums[j];
  }
}

template <int K>
void multiply(Tiles<K>& tiles) {
  multiply_into(tiles.c[0], tiles.a[0], tiles.b[0], K);
}

// The operands' registers stand in the pool: D, A, B, C. Sums are exact to a double and rounded once.
template <class T, int K>
void multiply_to_float(Warp& w, const Instr& in) {
  require_all(w, in);
  constexpr int per = std::is_same_v<T, Tf32> ? 1 : 2;
  const int32_t *d = &w.block->kernel->pool[in.list], *a = d + 4, *b = a + 16 * K / (32 * per), *c = b + 8 * K / (32 * per);
  Tiles<K> tiles;
  read_tiles<T, K>(w, a, b, tiles);
  auto row = [](int lane, int r) { return lane / 4 + r / 2 * 8; };
  auto column = [](int lane, int r) { return lane % 4 * 2 + r % 2; };
  for (int r = 0; r < 4; r++)
    for (int lane = 0; lane < kLanes; lane++) tiles.c[row(lane, r)][column(lane, r)] = As<float>::get(w.in(c[r])[lane]);
  multiply(tiles);
  for (int r = 0; r < 4; r++)
    for (int lane = 0; lane < kLanes; lane++) w.out(d[r])[lane] = As<float>::put(float(tiles.c[row(lane, r)][column(lane, r)]));
}

// The same with accumulators of 16 bits, two in a register.
template <int K>
void multiply_to_half(Warp& w, const Instr& in) {
  require_all(w, in);
  const int32_t *d = &w.block->kernel->pool[in.list], *a = d + 2, *b = a + K / 4, *c = b + K / 8;
  Tiles<K> tiles;
  read_tiles<Half, K>(w, a, b, tiles);
  for (int r = 0; r < 2; r++)
    for (int lane = 0; lane < kLanes; lane++)
      for (int e = 0; e < 2; e++) tiles.c[lane / 4 + r * 8][lane % 4 * 2 + e] = element<Half>(uint32_t(w.in(c[r])[lane]), e);
  multiply(tiles);
  for (int r = 0; r < 2; r++)
    for (int lane = 0; lane < kLanes; lane++) {
      const double* values = &tiles.c[lane / 4 + r * 8][lane % 4 * 2];
      w.out(d[r])[lane] = As<Half>::put(values[0]) | As<Half>::put(values[1]) << 16;
    }
}

bool select_product(Selection& s) {
  const Opcode& op = s.op;
  auto& o = s.operands;
  if (!op.has("sync") || !op.has("row") || !op.has("col") || op.has("sp") || o.size() != 4 || op.types.size() != 4) return false;
  const bool wide = op.has("m16n8k16");
  if (!wide && !op.has("m16n8k8")) return false;
  const Type d = op.types[0], a = op.types[1], b = op.types[2], c = op.types[3];
  if (a != b || c != d) return false;
  Instr& in = s.instr;
  size_t per_lane = wide ? 4 : 2;
  if (d == Type::kF32) {
    if (a == Type::kBf16) in.inner = wide ? multiply_to_float<Bf16, 16> : multiply_to_float<Bf16, 8>;
    if (a == Type::kF16) in.inner = wide ? multiply_to_float<Half, 16> : multiply_to_float<Half, 8>;
    if (a == Type::kTf32) {
      in.inner = multiply_to_float<Tf32, 8>;
      if (wide) return false;
      per_lane = 4;
    }
  } else if (d == Type::kF16 && a == Type::kF16) {
    in.inner = wide ? multiply_to_half<16> : multiply_to_half<8>;
  }
  const size_t sizes[] = {d == Type::kF32 ? 4u : 2u, per_lane, per_lane / 2, d == Type::kF32 ? 4u : 2u};
  std::vector<int32_t> all;
  for (int k = 0; k < 4; k++) {
    if (o[k].kind == Operand::kValue) o[k].elements = {o[k].slot};
    if (o[k].elements.size() != sizes[k]) return false;
    all.insert(all.end(), o[k].elements.begin(), o[k].elements.end());
  }
  in.list = uint32_t(s.append(all));
  return in.inner;
}

bool select_load(Selection& s) {
  const Opcode& op = s.op;
  auto& o = s.operands;
  const size_t count = op.has("x4") ? 4 : op.has("x2") ? 2 : op.has("x1") ? 1 : 0;
  if (o.size() != 2 || !op.has("m8n8") || op.type() != Type::kB16 || !count || o[1].kind != Operand::kAddress) return false;
  if (o[0].kind == Operand::kValue) o[0].elements = {o[0].slot};
  if (o[0].elements.size() != count) return false;
  Instr& in = s.instr;
  in.n = uint16_t(count);
  in.list = uint32_t(s.append(o[0].elements));
  in.a = o[1].slot;
  in.imm = o[1].offset;
  in.flags = op.has("trans");
  in.inner = load_matrices;
  return true;
}

}  // namespace

bool select_matrix(Selection& s) {
  if (s.op.name == "mma") return select_product(s);
  if (s.op.name == "ldmatrix") return select_load(s);
  return false;
}

}  // namespace ptx
