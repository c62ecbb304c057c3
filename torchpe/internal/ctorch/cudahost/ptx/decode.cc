// Decoding of entries and the functions that they call.
#include "text.h"

namespace ptx {
namespace {

size_t align_up(size_t value, size_t align) { return (value + align - 1) / align * align; }

struct Register {
  int32_t slot = 0;
  bool narrow = false;
};

struct Family {
  int32_t first = 0, count = 0;
  bool narrow = false;
};

struct Fixup {
  std::string_view label;
  size_t instr;     // the branch, or
  int64_t pool;     // the place in the pool, if not negative
};

// What a pair of braces encloses.
struct Scope {
  std::unordered_map<std::string_view, Register> registers;
  std::unordered_map<std::string_view, Family> families;
  std::unordered_map<std::string_view, Variable> variables;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, std::vector<std::string_view>> tables;  // of branch targets
  std::unordered_map<std::string_view, size_t> prototypes;
  std::vector<Fixup> fixups;
};

struct SpecialName {
  std::string_view name;
  Special special;
};
constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::kTidX}, {"%tid.y", Special::kTidY}, {"%tid.z", Special::kTidZ}, {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY}, {"%ntid.z", Special::kNtidZ}, {"%ctaid.x", Special::kCtaidX}, {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ}, {"%nctaid.x", Special::kNctaidX}, {"%nctaid.y", Special::kNctaidY}, {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneid}, {"%warpid", Special::kWarpid}, {"%nwarpid", Special::kNwarpid}, {"%smid", Special::kSmid},
    {"%nsmid", Special::kNsmid}, {"%lanemask_eq", Special::kMaskEq}, {"%lanemask_le", Special::kMaskLe}, {"%lanemask_lt", Special::kMaskLt},
    {"%lanemask_ge", Special::kMaskGe}, {"%lanemask_gt", Special::kMaskGt}, {"%dynamic_smem_size", Special::kDynamicShared},
    {"%total_smem_size", Special::kTotalShared}, {"%gridid", Special::kZero}, {"%cluster_ctaid.x", Special::kZero},
    {"%cluster_ctaid.y", Special::kZero}, {"%cluster_ctaid.z", Special::kZero}, {"%cluster_ctarank", Special::kZero},
    {"%cluster_nctaid.x", Special::kOne}, {"%cluster_nctaid.y", Special::kOne}, {"%cluster_nctaid.z", Special::kOne},
    {"%cluster_nctarank", Special::kOne}, {"%clusterid.x", Special::kCtaidX}, {"%clusterid.y", Special::kCtaidY},
    {"%clusterid.z", Special::kCtaidZ}, {"%nclusterid.x", Special::kNctaidX}, {"%nclusterid.y", Special::kNctaidY},
    {"%nclusterid.z", Special::kNctaidZ}};

// Thrown while an instruction is decoded; the instruction then throws when it is executed.
struct NotKnown {};

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.'; }

class KernelDecoder {
 public:
  explicit KernelDecoder(Kernel& k) : kernel(k), module(*k.module) {}

  Kernel& kernel;
  Module& module;

  int32_t new_registers(int32_t count) {
    kernel.registers += count;
    return kernel.registers - count;
  }

  int32_t constant(uint64_t bits) {
    auto [at, is_new] = constants.emplace(bits, 0);
    if (is_new) at->second = append_constant(bits);
    return at->second;
  }

  // The address of the dynamic shared memory, which is known at the end.
  int32_t dynamic_shared(int64_t offset) {
    auto [at, is_new] = dynamics.emplace(offset, 0);
    if (is_new) at->second = append_constant(0);
    return at->second;
  }

  uint64_t constant_value(int32_t slot) const { return values[size_t(-slot - 1)]; }

  int32_t special(Special which) {
    for (auto [known, slot] : kernel.specials)
      if (known == which) return slot;
    kernel.specials.emplace_back(which, new_registers(1));
    return kernel.specials.back().second;
  }

  int32_t carry() {
    if (carry_slot < 0) carry_slot = new_registers(1);
    return carry_slot;
  }

  size_t place(Space space, size_t size, size_t align) {
    size_t& top = space == Space::kShared ? kernel.shared_size : kernel.local_size;
    top = align_up(top, std::max<size_t>(align, space == Space::kShared ? 1 : 8));
    top += size;
    return top - size;
  }

  // The offset of a module-scope shared variable, which gets its place when it is first used.
  size_t shared_offset(const std::string& name, const Variable& v) {
    auto [at, is_new] = shared_places.emplace(name, 0);
    if (is_new) at->second = place(Space::kShared, v.size, v.align);
    return at->second;
  }

  void note_dynamic(size_t align) { dynamic_align = std::max(dynamic_align, align); }

  Function* function(const Routine& routine);
  void decode_all_functions(size_t parameters);
  void entry(const Routine& routine);

 private:
  std::unordered_map<uint64_t, int32_t> constants;
  std::map<int64_t, int32_t> dynamics;
  std::vector<uint64_t> values;
  std::map<std::string, size_t> shared_places;
  int32_t carry_slot = -1;
  size_t dynamic_align = 16;
  std::vector<Function*> order;  // callees before their callers

  int32_t append_constant(uint64_t bits) {
    values.push_back(bits);
    return -int32_t(values.size());
  }

  void link();
};

class RoutineDecoder {
 public:
  RoutineDecoder(KernelDecoder& k, Function& f) : decoder(k), function(f), routine(*f.routine) {}

  void parameters() {
    scopes.emplace_back();
    size_t offset = 0;
    for (auto text : split_at(routine.parameters, ',')) {
      if (text.empty()) continue;
      const Declaration d = declared(text);
      if (routine.is_entry) {
        offset = align_up(offset, d.align);
        scopes.back().variables[d.name] = {Space::kParam, offset, d.size, d.align, false};
        decoder.kernel.params.push_back({offset, d.size});
        offset += d.size;
      } else {
        const size_t at = decoder.place(Space::kLocal, d.size, d.align);
        scopes.back().variables[d.name] = {Space::kLocal, at, d.size, d.align, false};
        function.params.push_back({at, d.size});
      }
    }
    if (routine.is_entry) decoder.kernel.param_size = offset;
    if (!routine.has_result || trim(routine.result).empty()) return;
    const Declaration d = declared(routine.result);
    function.result = {decoder.place(Space::kLocal, d.size, d.align), d.size};
    scopes.back().variables[d.name] = {Space::kLocal, function.result.offset, d.size, d.align, false};
  }

  void body() {
    Scanner scanner(routine.body);
    std::string_view label;
    for (scanner.skip_space(); !scanner.done(); scanner.skip_space()) {
      const char c = scanner.peek();
      if (c == '{') scanner.at++, scopes.emplace_back();
      else if (c == '}') scanner.at++, close_scope();
      else if (c == ';') scanner.at++;
      else if (label_here(scanner, label)) continue;
      else if (scanner.text.compare(scanner.at, 5, ".loc ") == 0 || scanner.text.compare(scanner.at, 5, ".loc\t") == 0) scanner.skip_line();
      else statement(trim(scanner.until(';')), label);
    }
    emit(leave());
    while (!scopes.empty()) close_scope();
  }

 private:
  KernelDecoder& decoder;
  Function& function;
  const Routine& routine;
  std::vector<Scope> scopes;
  std::map<std::pair<std::string_view, size_t>, size_t> call_places;

  [[noreturn]] void malformed(const std::string& what) const {
    throw std::runtime_error("kernel " + decoder.kernel.name + ": " + what);
  }

  static Declaration declared(std::string_view text) {
    Scanner scanner(text);
    const auto space = scanner.word();  // .param or .reg
    if (space != ".param" && space != ".reg") throw std::runtime_error("ptx: bad parameter: " + std::string(text));
    std::string_view rest = text.substr(scanner.at);
    const size_t pointer = rest.find(".ptr");
    if (pointer == std::string_view::npos) return parse_declaration(rest);
    Declaration d;
    d.type = Type::kU64;
    d.size = d.align = 8;
    d.name = trim(rest.substr(rest.find_last_of(" \t\n") + 1));
    return d;
  }

  bool label_here(Scanner& scanner, std::string_view& label) {
    size_t end = scanner.at;
    while (end < scanner.text.size() && is_word_character(scanner.text[end])) end++;
    size_t colon = end;
    while (colon < scanner.text.size() && is_space(scanner.text[colon])) colon++;
    if (end == scanner.at || colon + 1 >= scanner.text.size() || scanner.text[colon] != ':' || scanner.text[colon + 1] == ':') return false;
    label = scanner.text.substr(scanner.at, end - scanner.at);
    scopes.back().labels[label] = uint32_t(function.code.size());
    scanner.at = colon + 1;
    return true;
  }

  void close_scope() {
    if (scopes.empty()) malformed("unbalanced braces");
    Scope scope = std::move(scopes.back());
    scopes.pop_back();
    for (auto& fixup : scope.fixups) {
      auto at = scope.labels.find(fixup.label);
      if (at != scope.labels.end()) {
        if (fixup.pool >= 0) decoder.kernel.pool[size_t(fixup.pool)] = int32_t(at->second);
        else function.code[fixup.instr].target = at->second;
      } else if (scopes.empty()) malformed("unknown label " + std::string(fixup.label));
      else scopes.back().fixups.push_back(fixup);
    }
  }

  void emit(Instr in) {
    if (!in.run) in.run = in.rounding ? rounded_inner : in.inner;
    function.code.push_back(in);
  }

  Instr leave() const {
    Instr in;
    in.inner = routine.is_entry ? exit_threads : return_from_function;
    in.a = function.return_to;
    return in;
  }

  // ---- Statements.

  void statement(std::string_view text, std::string_view label) {
    if (text.empty()) return;
    if (text[0] == '.') {
      directive(text, label);
      return;
    }
    std::string_view whole = text;
    size_t guard_at = function.code.size();
    bool guarded = false;
    const uint32_t pool = uint32_t(decoder.kernel.pool.size());
    try {
      if (text[0] == '@') {
        Instr guard = guard_of(text);
        guarded = true;
        if (is_conditional_branch(text, guard)) return;
        guard.mode ^= 1;  // past the instruction where the guard does not hold
        guard.text = whole;
        emit(guard);
      }
      instruction(text, whole);
    } catch (const NotKnown&) {
      decoder.kernel.pool.resize(pool);
      function.code.resize(std::min(function.code.size(), guard_at + (guarded ? 1 : 0)));
      Instr in;
      in.text = whole;
      in.inner = unknown_instr;
      emit(in);
    }
    if (guarded) function.code[guard_at].target = uint32_t(function.code.size());
  }

  // Reads "@p" or "@!p" and gives a branch that is taken where it holds.
  Instr guard_of(std::string_view& text) {
    Scanner scanner(text);
    scanner.at = 1;
    const bool negated = scanner.accept('!');
    Instr in;
    in.inner = branch_if;
    in.a = value(scanner.word(), Type::kPred).slot;
    in.mode = negated;
    in.is_branch = true;
    scanner.skip_space();
    text = text.substr(scanner.at);
    return in;
  }

  bool is_conditional_branch(std::string_view text, Instr branch) {
    Scanner scanner(text);
    const auto opcode = scanner.word();
    if (opcode != "bra" && opcode != "bra.uni") return false;
    scanner.skip_space();
    branch.text = text;
    scopes.back().fixups.push_back({trim(text.substr(scanner.at)), function.code.size(), -1});
    emit(branch);
    return true;
  }

  void directive(std::string_view text, std::string_view label) {
    Scanner scanner(text);
    const auto word = scanner.word();
    const auto rest = trim(text.substr(scanner.at));
    if (word == ".reg") declare_registers(rest);
    else if (word == ".local") declare_variable(Space::kLocal, rest);
    else if (word == ".shared") declare_variable(Space::kShared, rest);
    else if (word == ".param") declare_variable(Space::kParam, rest);
    else if (word == ".branchtargets") scopes.back().tables[label] = split_at(rest, ',');
    else if (word == ".callprototype") scopes.back().prototypes[label] = 0;
    else if (word != ".pragma" && word != ".loc") malformed("unknown directive " + std::string(text));
  }

  void declare_registers(std::string_view text) {
    Scanner scanner(text);
    Type type = Type::kNone;
    for (scanner.skip_space(); scanner.peek() == '.'; scanner.skip_space()) {
      const auto word = scanner.word().substr(1);
      if (type_named(word) != Type::kNone) type = type_named(word);
    }
    const bool narrow = size_of(type) < 8;
    for (auto name : split_at(text.substr(scanner.at), ',')) {
      const size_t angle = name.find('<');
      int64_t count;
      if (angle == std::string_view::npos) {
        scopes.back().registers[name] = {decoder.new_registers(1), narrow};
      } else {
        if (!parse_integer(name.substr(angle + 1, name.find('>') - angle - 1), &count)) malformed("bad registers " + std::string(text));
        scopes.back().families[name.substr(0, angle)] = {decoder.new_registers(int32_t(count)), int32_t(count), narrow};
      }
    }
  }

  void declare_variable(Space space, std::string_view text) {
    const Declaration d = parse_declaration(text);
    Variable v{space, 0, d.size, d.align, d.unsized};
    if (space == Space::kParam) {
      // Arguments live only from their stores to the call, so calls share the places of equal names.
      v.space = Space::kLocal;
      auto [at, is_new] = call_places.emplace(std::make_pair(d.name, d.size), 0);
      if (is_new) at->second = decoder.place(Space::kLocal, d.size, std::max<size_t>(d.align, 16));
      v.offset = at->second;
    } else if (!d.unsized) {
      v.offset = decoder.place(space, d.size, d.align);
    }
    scopes.back().variables[d.name] = v;
  }

  // ---- Operands.

  bool find_register(std::string_view name, Register* found) const {
    size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
    int64_t number = -1;
    if (digits < name.size() && (name[digits] != '0' || digits + 1 == name.size())) {
      number = 0;
      for (size_t i = digits; i < name.size() && number < (1 << 24); i++) number = number * 10 + (name[i] - '0');
    }
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto single = scope->registers.find(name);
      if (single != scope->registers.end()) {
        *found = single->second;
        return true;
      }
      if (number < 0) continue;
      auto family = scope->families.find(name.substr(0, digits));
      if (family == scope->families.end() || number >= family->second.count) continue;
      *found = {family->second.first + int32_t(number), family->second.narrow};
      return true;
    }
    return false;
  }

  const Variable* find_variable(std::string_view name) const {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
      auto v = scope->variables.find(name);
      if (v != scope->variables.end()) return &v->second;
    }
    auto v = decoder.module.variables.find(std::string(name));
    return v == decoder.module.variables.end() ? nullptr : &v->second;
  }

  bool is_module_scope(const Variable* v, std::string_view name) const {
    auto found = decoder.module.variables.find(std::string(name));
    return found != decoder.module.variables.end() && &found->second == v;
  }

  // A constant that holds the variable's address in its space, plus the offset.
  Operand address(std::string_view name, const Variable& v, int64_t offset) {
    Operand o;
    o.local = v.space == Space::kLocal;
    o.kernel_param = v.space == Space::kParam;
    if (v.space == Space::kGlobal) {
      if (v.is_extern) throw NotKnown{};
      o.slot = decoder.constant(uint64_t(decoder.module.base()) + v.offset + uint64_t(offset));
    } else if (v.space == Space::kShared && v.is_extern) {
      decoder.note_dynamic(v.align);
      o.slot = decoder.dynamic_shared(offset);
    } else {
      size_t at = v.space == Space::kShared && is_module_scope(&v, name) ? decoder.shared_offset(std::string(name), v) : v.offset;
      o.offset = int64_t(at) + offset;
      o.slot = decoder.constant(uint64_t(o.offset));
    }
    return o;
  }

  // name, name+number or name-number
  static int64_t split_offset(std::string_view& text) {
    const size_t sign = text.find_last_of("+-");
    int64_t offset = 0;
    if (sign == std::string_view::npos || sign == 0) return 0;
    auto digits = trim(text.substr(sign + 1));
    if (!parse_integer(digits, &offset)) return 0;
    const bool negative = text[sign] == '-';
    text = trim(text.substr(0, sign));
    if (!text.empty() && text.back() == '+') text = trim(text.substr(0, text.size() - 1));
    return negative ? -offset : offset;
  }

  Operand value(std::string_view text, Type type) {
    Operand o;
    Register r;
    uint64_t bits;
    if (text.empty()) throw NotKnown{};
    if (find_register(text, &r)) {
      o.slot = r.slot;
      o.narrow = r.narrow;
    } else if (parse_number(text, type, &bits)) {
      o.slot = decoder.constant(bits);
      o.offset = int64_t(bits);
    } else if (text == "_") {
      o.slot = decoder.new_registers(1);
    } else if (text == "WARP_SZ") {
      o.slot = decoder.constant(kLanes);
      o.offset = kLanes;
    } else if (text[0] == '%') {
      for (auto& s : kSpecials)
        if (s.name == text) {
          o.slot = decoder.special(s.special);
          return o;
        }
      o.kind = Operand::kName;
      o.name = text;
    } else {
      std::string_view name = text;
      const int64_t offset = split_offset(name);
      if (const Variable* v = find_variable(name)) return address(name, *v, offset);
      auto routine_named = decoder.module.by_name.find(name);
      if (routine_named != decoder.module.by_name.end()) {
        o.slot = decoder.constant(uint64_t(routine_named->second));
        return o;
      }
      o.kind = Operand::kName;
      o.name = text;
    }
    return o;
  }

  Operand memory_operand(std::string_view text) {
    text = trim(text);
    Operand o;
    std::string_view name = text;
    const int64_t offset = split_offset(name);
    Register r;
    uint64_t bits;
    if (find_register(name, &r)) {
      o.slot = r.slot;
      o.narrow = r.narrow;
      o.offset = offset;
      o.local = !routine.is_entry;  // for ld.param: a function's parameters lie in local memory
    } else if (const Variable* v = find_variable(name)) {
      o = address(name, *v, offset);
      if (!o.kernel_param) o.offset = 0;  // it is part of the constant
    } else if (parse_number(text, Type::kU64, &bits)) {
      o.slot = decoder.constant(bits);
    } else throw NotKnown{};
    o.kind = Operand::kAddress;
    return o;
  }

  Operand operand(std::string_view text, Type type) {
    if (text.empty()) throw NotKnown{};
    if (text[0] == '[') return memory_operand(text.substr(1, text.rfind(']') - 1));
    if (text[0] == '{') {
      Operand o;
      o.kind = Operand::kVector;
      for (auto part : split_at(text.substr(1, text.rfind('}') - 1), ',')) {
        Operand element = value(part, type);
        if (element.kind != Operand::kValue) throw NotKnown{};
        o.elements.push_back(element.slot);
      }
      return o;
    }
    if (text[0] == '!') {
      Operand o = value(trim(text.substr(1)), Type::kPred);
      o.negated = true;
      return o;
    }
    const size_t bar = text.find('|');
    if (bar != std::string_view::npos) {
      Operand o = value(trim(text.substr(0, bar)), type);
      Operand second = value(trim(text.substr(bar + 1)), type);
      o.second = second.slot;
      return o;
    }
    return value(text, type);
  }

  static Opcode opcode_of(std::string_view text) {
    Opcode op;
    op.full = text;
    size_t dot = text.find('.');
    op.name = text.substr(0, dot);
    while (dot != std::string_view::npos) {
      const size_t next = text.find('.', dot + 1);
      const auto part = text.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1);
      dot = next;
      const Type type = type_named(part);
      if (type == Type::kNone || (type == Type::kPred && op.name == "prefetch")) op.parts.push_back(part);
      else op.types.push_back(type);
    }
    return op;
  }

  // ---- Instructions.

  void instruction(std::string_view text, std::string_view whole) {
    Selection s;
    Scanner scanner(text);
    s.op = opcode_of(scanner.word());
    s.kernel = &decoder.kernel;
    s.instr.text = whole;
    const auto rest = trim(text.substr(scanner.at));
    if (s.op.name == "call") {
      call(rest, whole);
      return;
    }
    if (control(s, rest)) {
      emit(s.instr);
      return;
    }
    const Type type = s.op.types.empty() ? Type::kNone : s.op.types.back();
    for (auto part : split_at(rest, ',')) s.operands.push_back(operand(part, type));
    if (s.op.has("cc") || s.op.name == "addc" || s.op.name == "subc" || s.op.name == "madc") s.carry = decoder.carry();
    if (s.op.name == "mma") make_vectors(s);
    if (!select(s)) throw NotKnown{};
    emit(s.instr);
  }

  static void make_vectors(Selection& s) {
    for (auto& o : s.operands)
      if (o.kind == Operand::kValue) o.kind = Operand::kVector, o.elements = {o.slot};
  }

  // Each selection starts from a fresh copy, as one that fails may leave something behind.
  static bool select(Selection& s) {
    using Select = bool (*)(Selection&);
    static constexpr Select all[] = {select_warp, select_compare, select_convert, select_integer, select_float, select_memory, select_matrix};
    for (Select one : all) {
      Selection copy = s;
      if (!one(copy)) continue;
      if (unnamed(copy)) continue;
      s.instr = copy.instr;
      return true;
    }
    return false;
  }

  // Names that are neither registers nor known symbols are operands of no instruction but mov %clock.
  static bool unnamed(const Selection& s) {
    if (s.op.name == "mov") return false;
    for (auto& o : s.operands)
      if (o.kind == Operand::kName) return true;
    return false;
  }

  bool control(Selection& s, std::string_view rest) {
    const auto name = s.op.name;
    Instr& in = s.instr;
    if (name == "ret") in = leave();
    else if (name == "exit") in.inner = exit_threads;
    else if (name == "trap") in.inner = trap;
    else if (name == "bra") {
      in.inner = branch_always;
      in.is_branch = true;
      scopes.back().fixups.push_back({rest, function.code.size(), -1});
    } else if (name == "brx") {
      const auto parts = split_at(rest, ',');
      if (parts.size() != 2) throw NotKnown{};
      in.a = value(parts[0], Type::kU32).slot;
      in.inner = branch_indexed;
      for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        auto table = scope->tables.find(parts[1]);
        if (table == scope->tables.end()) continue;
        in.n = uint16_t(table->second.size());
        in.list = uint32_t(s.append(std::vector<int32_t>(in.n)));
        for (uint32_t k = 0; k < in.n; k++) scopes.back().fixups.push_back({table->second[k], 0, int64_t(in.list) + k});
        return true;
      }
      throw NotKnown{};
    } else return false;
    in.text = s.op.full;
    return true;
  }

  // call[.uni] (result), target, (arguments)[, prototype]
  void call(std::string_view rest, std::string_view whole) {
    auto parts = split_at(rest, ',');
    std::vector<int32_t> results, arguments;
    std::vector<size_t> result_sizes, sizes;
    size_t at = 0;
    if (!parts.empty() && !parts[0].empty() && parts[0][0] == '(') call_places_of(parts[at++], results, result_sizes);
    if (at >= parts.size()) throw NotKnown{};
    const std::string_view target = parts[at++];
    if (at < parts.size() && !parts[at].empty() && parts[at][0] == '(') call_places_of(parts[at++], arguments, sizes);
    Instr in;
    in.text = whole;
    Register r;
    if (find_register(target, &r)) {
      decoder.decode_all_functions(arguments.size());
      in.inner = call_indirect;
      in.b = r.slot;
      in.n = uint16_t(arguments.size());
      in.list = append(arguments);
      emit(in);
      if (results.empty()) return;
      in.inner = copy_result;
      in.imm = results[0];
      in.n = uint16_t(result_sizes[0]);
      emit(in);
      return;
    }
    auto found = decoder.module.by_name.find(target);
    if (found == decoder.module.by_name.end()) throw NotKnown{};
    if (!found->second->has_body) {
      in.inner = target == "__assertfail" ? assert_fail : target == "vprintf" ? return_zero : unknown_call;
      in.list = append(arguments);
      if (!results.empty()) in.imm = results[0], in.n = uint16_t(result_sizes[0]);
      emit(in);
      return;
    }
    Function* callee = decoder.function(*found->second);
    in.inner = unknown_call;
    if (callee && callee->params.size() == arguments.size()) {
      for (size_t k = 0; k < arguments.size(); k++) copy(whole, callee->params[k].offset, size_t(arguments[k]), callee->params[k].size);
      in.inner = call_function;
      in.a = callee->return_to;
      in.imm = int64_t(reinterpret_cast<intptr_t>(callee));
    }
    emit(in);
    if (callee && !results.empty()) copy(whole, size_t(results[0]), callee->result.offset, std::min(result_sizes[0], callee->result.size));
  }

  void copy(std::string_view text, size_t to, size_t from, size_t size) {
    Instr in;
    in.text = text;
    in.inner = copy_param;
    in.d = int32_t(to);
    in.b = int32_t(from);
    in.n = uint16_t(size);
    emit(in);
  }

  uint32_t append(const std::vector<int32_t>& list) {
    auto& pool = decoder.kernel.pool;
    pool.insert(pool.end(), list.begin(), list.end());
    return uint32_t(pool.size() - list.size());
  }

  void call_places_of(std::string_view text, std::vector<int32_t>& offsets, std::vector<size_t>& sizes) {
    for (auto name : split_at(text.substr(1, text.rfind(')') - 1), ',')) {
      const Variable* v = name.empty() ? nullptr : find_variable(name);
      if (name.empty()) continue;
      if (!v || v->space != Space::kLocal) throw NotKnown{};
      offsets.push_back(int32_t(v->offset));
      sizes.push_back(v->size);
    }
  }
};

// Null while the function is being decoded, that is when it calls itself.
Function* KernelDecoder::function(const Routine& routine) {
  for (auto& f : kernel.functions)
    if (f->routine == &routine) return f->complete ? f.get() : nullptr;
  kernel.functions.push_back(std::make_unique<Function>());
  Function* f = kernel.functions.back().get();
  f->routine = &routine;
  f->return_to = new_registers(1);
  RoutineDecoder body(*this, *f);
  body.parameters();
  body.body();
  f->complete = true;
  order.push_back(f);
  return f;
}

void KernelDecoder::decode_all_functions(size_t parameters) {
  for (auto& r : module.routines)
    if (!r->is_entry && r->has_body && split_at(r->parameters, ',').size() == parameters) function(*r);
}

void KernelDecoder::entry(const Routine& routine) {
  function(routine);
  link();
}

void KernelDecoder::link() {
  for (Function* f : order) {
    f->start = uint32_t(kernel.code.size());
    for (Instr& in : f->code) {
      if (in.is_branch) in.target += f->start;
      if (in.inner == branch_indexed)
        for (uint32_t k = 0; k < in.n; k++) kernel.pool[in.list + k] += int32_t(f->start);
      if (in.inner == call_function) in.target = reinterpret_cast<const Function*>(intptr_t(in.imm))->start;
    }
    kernel.code.insert(kernel.code.end(), f->code.begin(), f->code.end());
    f->code = {};
  }
  kernel.start = order.back()->start;
  kernel.shared_size = align_up(kernel.shared_size, dynamic_align);
  kernel.local_size = align_up(kernel.local_size, 16);
  for (auto [offset, slot] : dynamics) values[size_t(-slot - 1)] = kernel.shared_size + uint64_t(offset);
  kernel.constants.resize(values.size() * kLanes);
  for (size_t k = 0; k < values.size(); k++)
    for (size_t lane = 0; lane < kLanes; lane++) kernel.constants[(values.size() - 1 - k) * kLanes + lane] = values[k];
}

}  // namespace

std::shared_ptr<const Kernel> decode(const std::shared_ptr<Module>& module, const std::string& entry) {
  auto found = module->by_name.find(entry);
  if (found == module->by_name.end() || !found->second->is_entry || !found->second->has_body)
    throw std::runtime_error("ptx: no entry " + entry);
  auto kernel = std::make_shared<Kernel>();
  kernel->module = module;
  kernel->name = entry;
  KernelDecoder(*kernel).entry(*found->second);
  return kernel;
}

const std::vector<Param>& parameters(const Kernel& kernel) { return kernel.params; }

}  // namespace ptx
