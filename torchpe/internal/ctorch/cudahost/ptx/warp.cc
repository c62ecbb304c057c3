// Instructions in which the lanes of a warp or the threads of a block act together.
#include <chrono>

#include "values.h"

namespace ptx {
namespace {

// True when all live lanes of the active lanes' member masks are here. Otherwise the lanes here are set to wait for them.
bool together(Warp& w, const uint64_t* members) {
  uint32_t wanted = 0;
  for (uint32_t rest = w.active; rest; rest &= rest - 1) wanted |= uint32_t(members[__builtin_ctz(rest)]);
  if (!(wanted & w.live & ~w.active)) return true;
  for (uint32_t rest = w.waiting; rest; rest &= rest - 1)
    if (int lane = __builtin_ctz(rest); w.lane_pc[lane] == w.pc - 1) w.active |= 1u << lane, w.waiting &= ~(1u << lane);
  if (!(wanted & w.live & ~w.active)) return true;
  uint32_t here = w.active;
  save_pcs(w, w.pc - 1);
  w.waiting |= here;
  schedule(w);
  return false;
}

// mode: 0 up, 1 down, 2 bfly, 3 idx. list: the predicate written, or none if flags is 0.
void shuffle(Warp& w, const Instr& in) {
  const int32_t* list = &w.block->kernel->pool[in.list];
  if (in.n && !together(w, w.in(list[1]))) return;
  const uint64_t *a = w.in(in.a), *b = w.in(in.b), *c = w.in(in.c);
  uint64_t value[kLanes];
  std::memcpy(value, a, sizeof value);
  uint64_t* d = w.out(in.d);
  uint64_t* p = in.flags ? w.out(list[0]) : nullptr;
  each(w, [&](int lane) {
    const int by = int(b[lane] & 31), clamp = int(c[lane] & 31), segment = int(c[lane] >> 8 & 31);
    const int highest = (lane & segment) | (clamp & ~segment), lowest = lane & segment;
    int source = 0;
    bool valid = true;
    switch (in.mode) {
      case 0: source = lane - by; valid = source >= highest; break;
      case 1: source = lane + by; valid = source <= highest; break;
      case 2: source = lane ^ by; valid = source <= highest; break;
      default: source = lowest | (by & ~segment); valid = source <= highest; break;
    }
    d[lane] = uint32_t(value[valid ? source : lane]);
    if (p) p[lane] = valid;
  });
}

// mode: 0 all, 1 any, 2 uni, 3 ballot. b is the member mask if n.
void vote(Warp& w, const Instr& in) {
  if (in.n && !together(w, w.in(in.b))) return;
  const uint64_t* members = w.in(in.b);
  const uint32_t yes = lanes_where(w, w.in(in.a), in.flags);
  uint64_t* d = w.out(in.d);
  const uint32_t active = w.active;
  const bool sync = in.n;
  const int mode = in.mode;
  each(w, [=](int i) {
    uint32_t mask = sync ? uint32_t(members[i]) & active : active, votes = yes & mask;
    d[i] = mode == 0 ? votes == mask : mode == 1 ? votes != 0 : mode == 2 ? votes == 0 || votes == mask : votes;
  });
}

// mode: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; flags: signed.
void reduce(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *members = w.in(in.b);
  if (!together(w, members)) return;
  uint64_t value[kLanes];
  std::memcpy(value, a, sizeof value);
  uint64_t* d = w.out(in.d);
  each(w, [&](int lane) {
    uint32_t rest = uint32_t(members[lane]) & w.active, r = uint32_t(value[__builtin_ctz(rest)]);
    for (rest &= rest - 1; rest; rest &= rest - 1) {
      uint32_t x = uint32_t(value[__builtin_ctz(rest)]);
      bool less = in.flags ? int32_t(x) < int32_t(r) : x < r;
      switch (in.mode) {
        case 0: r += x; break;
        case 1: r = less ? x : r; break;
        case 2: r = less ? r : x; break;
        case 3: r &= x; break;
        case 4: r |= x; break;
        default: r ^= x; break;
      }
    }
    d[lane] = r;
  });
}

// mode: 0 any, 1 all (list holds the predicate's register if flags). n: bits compared.
void match(Warp& w, const Instr& in) {
  const uint64_t *a = w.in(in.a), *members = w.in(in.b);
  if (!together(w, members)) return;
  uint64_t value[kLanes];
  for (int i = 0; i < kLanes; i++) value[i] = in.n == 64 ? a[i] : uint32_t(a[i]);
  uint64_t* d = w.out(in.d);
  each(w, [&](int lane) {
    const uint32_t mask = uint32_t(members[lane]) & w.active;
    uint32_t equal = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      if (value[__builtin_ctz(rest)] == value[lane]) equal |= rest & -rest;
    d[lane] = in.mode == 0 || equal == mask ? equal : 0;
    if (in.flags) w.out(int32_t(in.list))[lane] = equal == mask;
  });
}

void sync_warp(Warp& w, const Instr& in) { together(w, w.in(in.a)); }

void active_mask(Warp& w, const Instr& in) {
  uint64_t *d = w.out(in.d), mask = w.active;
  each(w, [=](int i) { d[i] = mask; });
}

void elect(Warp& w, const Instr& in) {
  if (!together(w, w.in(in.a))) return;
  uint64_t *d = w.out(in.d), *p = w.out(int32_t(in.list));
  const int leader = __builtin_ctz(w.active);
  each(w, [=](int i) { d[i] = uint64_t(leader), p[i] = i == leader; });
}

// The lanes stop at the barrier; the block lets them go on when enough threads have arrived. a: the barrier's number; b: the number
// of threads if flags is set. mode: 0 sync, 1 to 3 with the and, or, count of predicates c (negated if imm), 4 arrive.
void barrier(Warp& w, const Instr& in) {
  const uint64_t* number = w.in(in.a);
  const uint32_t here = w.active;
  if (in.mode == 4) {
    each(w, [&](int i) { w.block->arrived[number[i] & 15]++; });
    return;
  }
  each(w, [&](int i) { w.barrier[i] = uint8_t(number[i] & 15); });
  save_pcs(w, w.pc - 1);
  w.at_barrier |= here;
  schedule(w);
}

void read_clock(Warp& w, const Instr& in) {
  uint64_t now = in.mode == 0 ? w.count : uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  uint64_t* d = w.out(in.d);
  each(w, [=](int i) { d[i] = now; });
}

int mode_of(const Opcode& op, std::initializer_list<const char*> names) {
  int k = 0;
  for (const char* name : names) {
    if (op.has(name)) return k;
    k++;
  }
  return -1;
}

bool select_shuffle(Selection& s) {
  auto& o = s.operands;
  Instr& in = s.instr;
  const bool sync = s.op.has("sync");
  const int mode = mode_of(s.op, {"up", "down", "bfly", "idx"});
  if (mode < 0 || o.size() != (sync ? 5u : 4u)) return false;
  in.mode = uint8_t(mode);
  in.flags = o[0].second >= 0;
  in.n = sync;
  in.list = uint32_t(s.append({o[0].second, sync ? o[4].slot : 0}));
  if (sync) o.pop_back();
  in.inner = shuffle;
  return plain_operands(s, 4);
}

bool select_vote(Selection& s) {
  auto& o = s.operands;
  Instr& in = s.instr;
  const int mode = mode_of(s.op, {"all", "any", "uni", "ballot"});
  in.n = s.op.has("sync");
  if (mode < 0 || o.size() != (in.n ? 3u : 2u)) return false;
  in.mode = uint8_t(mode);
  in.flags = o[1].negated;
  in.inner = vote;
  return plain_operands(s, o.size());
}

bool select_barrier(Selection& s) {
  auto& o = s.operands;
  Instr& in = s.instr;
  if (s.op.has("warp")) {
    if (o.size() != 1) return false;
    in.a = o[0].slot;
    in.inner = sync_warp;
    return true;
  }
  if (s.op.has("cluster")) return false;
  const bool reduces = s.op.has("red");
  in.mode = uint8_t(reduces ? 1 + mode_of(s.op, {"and", "or", "popc"}) : 0);
  if (s.op.has("arrive")) in.mode = 4;
  size_t first = reduces ? 1 : 0, last = o.size() - (reduces ? 1 : 0);
  if (o.size() < (reduces ? 3u : 1u)) return false;
  if (reduces) {
    in.d = o[0].slot;
    in.c = o.back().slot;
    in.imm = o.back().negated;
  }
  in.a = o[first].slot;
  in.flags = last - first > 1;  // whether b is the number of threads
  if (in.flags) in.b = o[first + 1].slot;
  in.inner = barrier;
  return true;
}

}  // namespace

bool select_clock(Selection& s) {
  if (s.op.name != "mov" || s.operands.size() != 2 || s.operands[1].kind != Operand::kName) return false;
  const std::string_view name = s.operands[1].name;
  if (name != "%clock" && name != "%clock64" && name != "%clock_hi" && name.substr(0, 12) != "%globaltimer") return false;
  s.instr.mode = name[1] == 'g';
  s.instr.d = s.operands[0].slot;
  s.instr.inner = read_clock;
  return s.operands[0].kind == Operand::kValue;
}

bool select_warp(Selection& s) {
  const std::string_view name = s.op.name;
  Instr& in = s.instr;
  auto& o = s.operands;
  if (name == "shfl") return select_shuffle(s);
  if (name == "vote") return select_vote(s);
  if (name == "bar" || name == "barrier") return select_barrier(s);
  if (name == "mov") return select_clock(s);
  if (name == "activemask") {
    in.inner = active_mask;
    return plain_operands(s, 1);
  }
  if (name == "elect") {
    if (o.size() != 2 || o[0].second < 0) return false;
    in.list = uint32_t(o[0].second);
    in.inner = elect;
    return plain_operands(s, 2);
  }
  if (name == "redux") {
    const int mode = mode_of(s.op, {"add", "min", "max", "and", "or", "xor"});
    if (mode < 0 || size_of(s.op.type()) != 4 || s.op.type() == Type::kF32) return false;
    in.mode = uint8_t(mode);
    in.flags = s.op.type() == Type::kS32;
    in.inner = reduce;
    return plain_operands(s, 3);
  }
  if (name == "match") {
    if (o.empty()) return false;
    in.mode = s.op.has("all");
    in.flags = o[0].second >= 0;
    in.list = uint32_t(o[0].second);
    in.n = uint16_t(size_of(s.op.type()) * 8);
    in.inner = match;
    return plain_operands(s, 3);
  }
  if (name == "nanosleep" || name == "griddepcontrol" || name == "setmaxnreg" || name == "brkpt" || name == "pmevent") {
    in.inner = nothing;
    return true;
  }
  return false;
}

}  // namespace ptx
