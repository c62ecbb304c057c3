// The outer structure of a PTX text: entries, functions and variables.
#include <array>
#include <charconv>
#include <cstdlib>

#include "text.h"

namespace ptx {
namespace {

struct TypeName {
  std::string_view name;
  Type type;
  size_t size;
};
constexpr TypeName kTypes[] = {
    {"u32", Type::kU32, 4}, {"s32", Type::kS32, 4}, {"b32", Type::kB32, 4}, {"f32", Type::kF32, 4}, {"b64", Type::kB64, 8},
    {"u64", Type::kU64, 8}, {"s64", Type::kS64, 8}, {"f64", Type::kF64, 8}, {"pred", Type::kPred, 1}, {"b16", Type::kB16, 2},
    {"u16", Type::kU16, 2}, {"s16", Type::kS16, 2}, {"f16", Type::kF16, 2}, {"bf16", Type::kBf16, 2}, {"f16x2", Type::kF16x2, 4},
    {"bf16x2", Type::kBf16x2, 4}, {"b8", Type::kB8, 1}, {"u8", Type::kU8, 1}, {"s8", Type::kS8, 1}, {"tf32", Type::kTf32, 4},
    {"b128", Type::kB128, 16}};

}  // namespace

Type type_named(std::string_view name) {
  for (auto& t : kTypes)
    if (t.name == name) return t.type;
  return Type::kNone;
}

size_t size_of(Type type) {
  for (auto& t : kTypes)
    if (t.type == type) return t.size;
  return 0;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

void Scanner::skip_line() {
  at = text.find('\n', at);
  if (at == std::string_view::npos) at = text.size();
}

void Scanner::skip_space() {
  while (at < text.size()) {
    if (is_space(text[at])) at++;
    else if (text[at] == '/' && at + 1 < text.size() && text[at + 1] == '/') skip_line();
    else if (text[at] == '/' && at + 1 < text.size() && text[at + 1] == '*') {
      at = text.find("*/", at);
      at = at == std::string_view::npos ? text.size() : at + 2;
    } else return;
  }
}

bool Scanner::accept(char c) {
  skip_space();
  if (peek() != c || done()) return false;
  at++;
  return true;
}

std::string_view Scanner::word() {
  skip_space();
  const size_t first = at;
  while (at < text.size() && !is_space(text[at]) && !std::strchr("(){}[],;=", text[at])) at++;
  return text.substr(first, at - first);
}

std::string_view Scanner::until(char c) {
  size_t end = text.find(c, at);
  if (end == std::string_view::npos) end = text.size();
  auto found = text.substr(at, end - at);
  at = std::min(end + 1, text.size());
  return found;
}

std::string_view Scanner::braced(char open, char close) {
  static const auto is_notable = [] {
    std::array<bool, 256> table{};
    for (unsigned char c : {'(', ')', '{', '}', '/'}) table[c] = true;
    return table;
  }();
  const size_t first = ++at;
  int depth = 1;
  for (; at < text.size(); at++) {
    const char c = text[at];
    if (!is_notable[static_cast<unsigned char>(c)]) continue;
    if (c == '/' && at + 1 < text.size() && text[at + 1] == '/') {
      skip_line();
      if (done()) break;
    } else if (c == open) depth++;
    else if (c == close && --depth == 0) return text.substr(first, at++ - first);
  }
  throw std::runtime_error("ptx: bracket without its end");
}

std::vector<std::string_view> split_at(std::string_view s, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t first = 0;
  for (size_t i = 0; i < s.size(); i++) {
    if (s[i] == '{' || s[i] == '[' || s[i] == '(') depth++;
    if (s[i] == '}' || s[i] == ']' || s[i] == ')') depth--;
    if (s[i] == separator && depth == 0) {
      parts.push_back(trim(s.substr(first, i - first)));
      first = i + 1;
    }
  }
  auto last = trim(s.substr(first));
  if (!last.empty() || !parts.empty()) parts.push_back(last);
  return parts;
}

bool parse_integer(std::string_view s, int64_t* value) {
  bool negative = !s.empty() && s[0] == '-';
  if (negative) s.remove_prefix(1);
  if (!s.empty() && s.back() == 'U') s.remove_suffix(1);
  int base = 10;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) base = 16, s.remove_prefix(2);
  else if (s.size() > 2 && s[0] == '0' && (s[1] == 'b' || s[1] == 'B')) base = 2, s.remove_prefix(2);
  else if (s.size() > 1 && s[0] == '0') base = 8, s.remove_prefix(1);
  uint64_t bits = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), bits, base);
  if (error != std::errc() || end != s.data() + s.size()) return false;
  *value = int64_t(negative ? -bits : bits);
  return true;
}

bool parse_number(std::string_view s, Type type, uint64_t* bits) {
  int64_t value;
  if (s.size() > 2 && s[0] == '0' && (s[1] == 'f' || s[1] == 'F' || s[1] == 'd' || s[1] == 'D')) {
    auto [end, error] = std::from_chars(s.data() + 2, s.data() + s.size(), *bits, 16);
    return error == std::errc() && end == s.data() + s.size();
  }
  if (parse_integer(s, &value)) {
    *bits = uint64_t(value);
    return true;
  }
  if (s.empty() || !std::strchr("-0123456789.", s[0]) || s.find('.') == std::string_view::npos) return false;
  char* end;
  const std::string copy(s);
  const double number = std::strtod(copy.c_str(), &end);
  if (*end) return false;
  if (type == Type::kF64) std::memcpy(bits, &number, sizeof number);
  else if (type == Type::kF32) {
    const float single = float(number);
    uint32_t word;
    std::memcpy(&word, &single, sizeof word);
    *bits = word;
  } else return false;
  return true;
}

Declaration parse_declaration(std::string_view text) {
  Declaration d;
  const size_t equals = text.find('=');
  if (equals != std::string_view::npos) {
    d.initial = trim(text.substr(equals + 1));
    text = text.substr(0, equals);
  }
  Scanner scanner(text);
  size_t vector = 1, align = 0;
  while (true) {
    scanner.skip_space();
    if (scanner.peek() != '.') break;
    auto word = scanner.word().substr(1);
    int64_t value;
    if (word == "align") {
      if (!parse_integer(scanner.word(), &value)) throw std::runtime_error("ptx: bad alignment");
      align = size_t(value);
    } else if (word == "v2") vector = 2;
    else if (word == "v4") vector = 4;
    else if (word == "attribute") {
      scanner.skip_space();
      scanner.braced('(', ')');
    } else if (Type type = type_named(word); type != Type::kNone) d.type = type;
  }
  auto names = split_at(text.substr(scanner.at), ',');
  if (names.empty()) throw std::runtime_error("ptx: declaration without a name: " + std::string(text));
  d.others.assign(names.begin() + 1, names.end());
  size_t elements = 1;
  std::string_view name = names[0];
  const size_t bracket = name.find('[');
  d.name = trim(name.substr(0, bracket));
  for (size_t at = bracket; at != std::string_view::npos; at = name.find('[', at + 1)) {
    auto inside = trim(name.substr(at + 1, name.find(']', at) - at - 1));
    int64_t value = 0;
    if (inside.empty()) d.unsized = true;
    else if (!parse_integer(inside, &value)) throw std::runtime_error("ptx: bad dimension: " + std::string(text));
    elements *= size_t(value);
  }
  d.size = size_of(d.type) * vector * elements;
  d.align = align ? align : std::max<size_t>(1, size_of(d.type) * vector);
  return d;
}

namespace {

size_t align_up(size_t value, size_t align) { return (value + align - 1) / align * align; }

class Loader {
 public:
  explicit Loader(Module& m) : module(m), scanner(m.text) {}

  void read() {
    bool is_extern = false;
    for (scanner.skip_space(); !scanner.done(); scanner.skip_space()) {
      const auto word = scanner.word();
      if (word.empty()) scanner.at++;
      else if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file" || word == ".loc") scanner.skip_line();
      else if (word == ".extern") is_extern = true;
      else if (word == ".entry" || word == ".func") routine(word == ".entry"), is_extern = false;
      else if (word == ".global" || word == ".const") variable(Space::kGlobal, is_extern), is_extern = false;
      else if (word == ".shared") variable(Space::kShared, is_extern), is_extern = false;
      else if (word == ".section") scanner.until('{'), scanner.at--, scanner.braced('{', '}');
      else if (word == ".alias" || word == ".pragma") scanner.until(';');
    }
    module.memory.resize(used / 8 + 2);
    for (auto& [variable, declaration] : initials) initialise(variable, declaration);
  }

 private:
  Module& module;
  Scanner scanner;
  size_t used = 0;
  std::vector<std::pair<Variable, Declaration>> initials;

  void routine(bool is_entry) {
    auto r = std::make_unique<Routine>();
    r->is_entry = is_entry;
    scanner.skip_space();
    if (!is_entry && scanner.peek() == '(') {
      r->result = scanner.braced('(', ')');
      r->has_result = true;
    }
    const std::string_view name = scanner.word();  // it lasts as long as the module's text
    r->name = name;
    scanner.skip_space();
    if (scanner.peek() == '(') r->parameters = scanner.braced('(', ')');
    for (scanner.skip_space(); !scanner.done() && scanner.peek() != '{' && scanner.peek() != ';'; scanner.skip_space())
      if (scanner.word().empty()) scanner.at++;
    if (scanner.peek() == '{') {
      r->has_body = true;
      r->body = scanner.braced('{', '}');
    } else scanner.accept(';');
    Routine*& known = module.by_name[name];
    if (!known) {
      module.routines.push_back(std::move(r));
      known = module.routines.back().get();
    } else if (!known->has_body) {
      *known = std::move(*r);  // the definition after its declaration
    }
  }

  void variable(Space space, bool is_extern) {
    const Declaration d = parse_declaration(scanner.until(';'));
    Variable v{space, 0, d.size, d.align, is_extern};
    const std::string name(d.name);
    auto known = module.variables.find(name);
    if (known != module.variables.end() && !known->second.is_extern) return;
    if (space == Space::kGlobal) {
      used = align_up(used, std::max<size_t>(d.align, 16));
      v.offset = used;
      used += d.size;
    }
    module.variables[name] = v;
    if (!d.initial.empty()) initials.emplace_back(v, d);
  }

  void initialise(const Variable& v, const Declaration& d) {
    const size_t size = size_of(d.type);
    size_t offset = 0;
    std::string_view rest = d.initial;
    while (!rest.empty()) {
      size_t end = 0;
      while (end < rest.size() && rest[end] != ',' && rest[end] != '{' && rest[end] != '}') end++;
      const auto token = trim(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (token.empty()) continue;
      const uint64_t bits = initial_value(token, d.type);
      if (offset + size > v.size) throw std::runtime_error("ptx: too many values for " + std::string(d.name));
      std::memcpy(module.base() + v.offset + offset, &bits, size);
      offset += size;
    }
  }

  // A number, or the address of a variable or function, perhaps as generic(name)+offset.
  uint64_t initial_value(std::string_view token, Type type) {
    uint64_t bits;
    if (parse_number(token, type, &bits)) return bits;
    int64_t offset = 0;
    const size_t plus = token.rfind('+');
    if (plus != std::string_view::npos && parse_integer(trim(token.substr(plus + 1)), &offset)) token = trim(token.substr(0, plus));
    if (token.substr(0, 8) == "generic(") token = trim(token.substr(8, token.size() - 9));
    auto v = module.variables.find(std::string(token));
    if (v != module.variables.end()) return uint64_t(module.base()) + v->second.offset + uint64_t(offset);
    auto r = module.by_name.find(token);
    if (r != module.by_name.end()) return uint64_t(r->second);
    throw std::runtime_error("ptx: unknown initial value " + std::string(token));
  }
};

}  // namespace

std::shared_ptr<Module> load(const char* text, size_t size) {
  auto module = std::make_shared<Module>();
  while (size && text[size - 1] == '\0') size--;
  module->text.assign(text, size);
  Loader(*module).read();
  return module;
}

void* variable(Module& module, const std::string& name, size_t* size) {
  auto v = module.variables.find(name);
  if (v == module.variables.end() || v->second.space != Space::kGlobal) return nullptr;
  if (size) *size = v->second.size;
  return module.base() + v->second.offset;
}

}  // namespace ptx
