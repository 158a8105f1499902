// Resolves frames with elfutils' libdw.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/symbols.h"

#include "reporter/report/dwarf_scopes.h"
#include "reporter/report/elf_input.h"
#include "reporter/report/report.h"
#include "reporter/report/symbol_cache.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <span>
#include <unordered_map>
#include <utility>

namespace vramscope {

namespace {

constexpr std::size_t kMaxAnswers = std::size_t{1} << 16;      // kept per module
constexpr std::size_t kMostUnitsAsked = std::size_t{1} << 20;  // of a module, since the last
                                                               // success

struct CloseDwfl {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Longer paths open nothing, so they are not tried for each frame.
std::string_view may_be_path(std::string_view path) {
  return path.size() < PATH_MAX ? path : std::string_view();
}

// Finds the file as libdwfl does, but refuses devices and pipes next to a module, which anybody may
// have put there.
int find_debug_file(Dwfl_Module* module, void** user, const char* name, Dwarf_Addr base,
                    const char* file, const char* link, GElf_Word checksum, char** found) {
  if (file != nullptr && is_beside_pipe(file, link == nullptr ? "" : link)) return -1;
  const int descriptor =
      dwfl_standard_find_debuginfo(module, user, name, base, file, link, checksum, found);
  if (descriptor < 0 || look_at_elf(descriptor) == ElfFile::fine) return descriptor;
  close(descriptor);
  return -1;
}

// Returns the bytes of "0aff", or nothing for other text.
std::vector<unsigned char> bytes_of(std::string_view digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<unsigned char> bytes;
  if (digits.size() % 2 != 0) return {};
  for (; !digits.empty(); digits.remove_prefix(2)) {
    const std::size_t high = kDigits.find(digits[0]);
    const std::size_t low = kDigits.find(digits[1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes.push_back(static_cast<unsigned char>(high << 4 | low));
  }
  return bytes;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

std::string build_id_of(Dwfl_Module* module) {
  constexpr char kDigits[] = "0123456789abcdef";
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  const int length = dwfl_module_build_id(module, &bits, &address);
  std::string text;
  for (int i = 0; i < length; ++i) {
    text += kDigits[bits[i] >> 4];
    text += kDigits[bits[i] & 15];
  }
  return text;
}

// Returns where the function was declared: its parents there are its class and namespace.
Dwarf_Die declaration_of(Dwarf_Die* function) {
  Dwarf_Die found = *function;
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_abstract_origin, DW_AT_specification}) {
    Dwarf_Die next;
    if (dwarf_attr(&found, name, &attribute) == nullptr) continue;
    if (dwarf_formref_die(&attribute, &next) != nullptr) found = next;
  }
  return found;
}

// Looking for the parents of a function takes as long as reading its unit. In C there are none.
bool is_of_c(Dwarf_Die* function) {
  Dwarf_Die unit;
  if (dwarf_diecu(function, &unit, nullptr, nullptr) == nullptr) return true;
  const int language = dwarf_srclang(&unit);
  return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
         language == DW_LANG_C11;
}

std::string name_of(Dwarf_Die* function);

// Returns the name that the demangler would use: "(anonymous namespace)", "{lambda}".
std::string name_of_scope(Dwarf_Die* scope, bool is_called) {
  const std::string name = text_or_empty(dwarf_diename(scope));
  if (!name.empty()) return name;
  if (dwarf_tag(scope) == DW_TAG_namespace) return "(anonymous namespace)";
  return is_called ? "{lambda}" : "(anonymous)";
}

// Returns "space::Class::" or "main::{lambda}::" for functions without a linkage name: lambdas, and
// templates over types without linkage.
std::string scope_text(Dwarf_Die* function) {
  if (is_of_c(function)) return {};
  Dwarf_Die declared = declaration_of(function);
  Dwarf_Die* found = nullptr;
  const int count = dwarf_getscopes_die(&declared, &found);
  if (count <= 0) return {};
  const std::unique_ptr<Dwarf_Die, Free> scopes(found);
  std::string text;
  for (Dwarf_Die& scope : std::span(found, static_cast<std::size_t>(count)).subspan(1)) {
    const int tag = dwarf_tag(&scope);
    const bool is_class =
        tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
    if (tag == DW_TAG_subprogram && !text.empty()) {
      return without_signature(name_of(&scope)) + "::" + text;
    }
    if (!is_class && tag != DW_TAG_namespace) break;
    const bool is_called = text.empty() && text_or_empty(dwarf_diename(function)) == "operator()";
    text.insert(0, name_of_scope(&scope, is_called) + "::");
  }
  return text;
}

// Returns the linkage name if there is one, else the plain name.
std::string name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(function, name, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute)) return demangle(text);
  }
  const std::string name = text_or_empty(dwarf_diename(function));
  return name.empty() ? name : scope_text(function) + name;
}

std::int32_t number_in(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0) return 0;
  return static_cast<std::int32_t>(std::min<Dwarf_Word>(value, INT32_MAX));
}

// Returns the place from which an inlined function was called.
SourceFrame call_site(Dwarf_Die* unit, Dwarf_Die* inlined) {
  SourceFrame caller;
  caller.line = number_in(inlined, DW_AT_call_line);
  Dwarf_Files* files = nullptr;
  if (dwarf_getsrcfiles(unit, &files, nullptr) != 0) return caller;
  const auto file = static_cast<std::size_t>(number_in(inlined, DW_AT_call_file));
  caller.file = text_or_empty(dwarf_filesrc(files, file, nullptr, nullptr));
  return caller;
}

}  // namespace

std::string_view describe(SymbolState state) {
  switch (state) {
    case SymbolState::resolved:
      return "resolved";
    case SymbolState::no_symbols:
      return "unresolved, no symbols";
    case SymbolState::no_file:
      return "unresolved, file not found";
    case SymbolState::replaced:
      return "unresolved, replaced";
    case SymbolState::too_large:
      return "unresolved, file unpacks to too much";
    case SymbolState::no_module:
      return "unresolved, generated code";
  }
  return "unresolved";
}

// One file, mapped at its own addresses, so that an offset in a report is an address here. It is
// opened for the first frame that an earlier run did not resolve.
class Symbols::Module {
 public:
  Module(const ModuleFact& fact, const SymbolCache& cache)
      : fact_(fact), identity_(cache.identity_of(fact)), answers_(cache.read(fact, identity_)) {}

  const ResolvedFrame& resolve(std::uint64_t offset) {
    const auto known = answers_.find(offset);
    if (known != answers_.end()) return known->second;
    if (!is_opened_) state_ = open(fact_);
    is_opened_ = true;
    if (answers_.size() >= kMaxAnswers) answers_.clear();
    return answers_[offset] = look_up(offset);
  }
  [[nodiscard]] bool is_opened() const { return is_opened_; }
  void keep(const SymbolCache& cache) const {
    if (is_opened_ && state_ == SymbolState::resolved) cache.write(fact_, identity_, answers_);
  }

 private:
  // Opens the file where it was when the program ran, or any file with its build id.
  SymbolState open(const ModuleFact& fact) {
    const SymbolState there = open_file(fact, open_regular(fact.path));
    if (there == SymbolState::resolved) return there;
    const int file = find_by_build_id(fact.build_id);
    return open_file(fact, file) == SymbolState::resolved ? SymbolState::resolved : there;
  }

  void begin() {
    static const Dwfl_Callbacks callbacks{.find_elf = dwfl_build_id_find_elf,
                                          .find_debuginfo = find_debug_file,
                                          .section_address = dwfl_offline_section_address,
                                          .debuginfo_path = nullptr};
    dwfl_.reset(dwfl_begin(&callbacks));
    if (!dwfl_) throw std::bad_alloc();
    dwfl_report_begin(dwfl_.get());
  }

  // Searches the folders of debug files and the servers of DEBUGINFOD_URLS. Returns a descriptor or
  // -1.
  int find_by_build_id(const std::string& build_id) {
    const std::vector<unsigned char> id = bytes_of(build_id);
    if (id.empty()) return -1;
    begin();
    constexpr GElf_Addr kSomewhere = 1 << 20;
    Dwfl_Module* const wanted = dwfl_report_module(dwfl_.get(), "", 0, kSomewhere);
    if (wanted == nullptr) return -1;
    dwfl_module_report_build_id(wanted, id.data(), id.size(), 0);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    char* name = nullptr;
    Elf* elf = nullptr;
    const int file = dwfl_build_id_find_elf(wanted, nullptr, "", 0, &name, &elf);
    std::free(name);
    if (elf != nullptr) elf_end(elf);
    return file;
  }

  // file: a descriptor that the module takes over, or -1.
  SymbolState open_file(const ModuleFact& fact, int file) {
    if (file < 0) return SymbolState::no_file;
    if (const ElfFile found = look_at_elf(file); found != ElfFile::fine) {
      close(file);
      return found == ElfFile::none ? SymbolState::no_file : SymbolState::too_large;
    }
    begin();
    constexpr bool kAddOwnAddresses = true;
    module_ = dwfl_report_elf(dwfl_.get(), "", fact.path.c_str(), file, 0, kAddOwnAddresses);
    if (module_ == nullptr) close(file);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    if (module_ == nullptr) return SymbolState::no_file;
    const bool same = fact.build_id.empty() || build_id_of(module_) == fact.build_id;
    return same ? SymbolState::resolved : SymbolState::replaced;
  }

  [[nodiscard]] ResolvedFrame look_up(std::uint64_t offset) {
    if (state_ != SymbolState::resolved) return {.state = state_, .functions = {}};
    // The call is the instruction before the return address.
    const Dwarf_Addr address = offset - 1;
    ResolvedFrame frame{.state = SymbolState::resolved, .functions = from_debug_info(address)};
    if (frame.functions.empty()) frame.functions = from_symbol_table(address);
    if (frame.functions.empty()) frame.state = SymbolState::no_symbols;
    return frame;
  }

  // Returns the scopes that contain the address, innermost first: inlined functions, then the
  // function itself.
  std::vector<SourceFrame> from_debug_info(Dwarf_Addr address) {
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = unit_at(address, bias);
    if (unit == nullptr) return {};
    std::vector<SourceFrame> functions;
    SourceFrame here = line_at(address);
    if (here.line == 0) here = line_in(unit, address - bias);
    for (Dwarf_Die& scope : scopes_at(unit, address - bias)) {
      const int tag = dwarf_tag(&scope);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      here.function = name_of(&scope);
      here.is_inlined = tag == DW_TAG_inlined_subroutine;
      functions.push_back(here);
      if (!here.is_inlined) return functions;
      here = call_site(unit, &scope);
    }
    return {};  // no function contains it: the address lies between two
  }

  std::vector<SourceFrame> from_symbol_table(Dwarf_Addr address) {
    const char* const name = dwfl_module_addrname(module_, address);
    if (name == nullptr) return {};
    SourceFrame frame = line_at(address);
    frame.function = demangle(name);
    return {frame};
  }

  SourceFrame line_at(Dwarf_Addr address) {
    SourceFrame frame;
    int line = 0;
    Dwfl_Line* const at = dwfl_module_getsrc(module_, address);
    if (at == nullptr) return frame;
    frame.file = text_or_empty(dwfl_lineinfo(at, nullptr, &line, nullptr, nullptr, nullptr));
    frame.line = line;
    return frame;
  }

  // Works without the table of address ranges that line_at() uses.
  static SourceFrame line_in(Dwarf_Die* unit, Dwarf_Addr address) {
    SourceFrame frame;
    int line = 0;
    Dwarf_Line* const at = dwarf_getsrc_die(unit, address);
    if (at == nullptr || dwarf_lineno(at, &line) != 0) return frame;
    frame.file = text_or_empty(dwarf_linesrc(at, nullptr, nullptr));
    frame.line = line;
    return frame;
  }

  // Finds the unit in the table of address ranges. Some compilers write no table; then each unit is
  // tried.
  Dwarf_Die* unit_at(Dwarf_Addr address, Dwarf_Addr& bias) {
    if (Dwarf_Die* const unit = dwfl_module_addrdie(module_, address, &bias)) return unit;
    Dwarf_Die* unit = nullptr;
    while (units_asked_ < kMostUnitsAsked &&
           (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr) {
      ++units_asked_;
      if (dwarf_haspc(unit, address - bias) != 1) continue;
      units_asked_ = 0;
      return unit;
    }
    return nullptr;
  }

  std::unique_ptr<Dwfl, CloseDwfl> dwfl_;
  Dwfl_Module* module_ = nullptr;
  ModuleFact fact_;
  std::string identity_;
  SymbolState state_ = SymbolState::no_file;
  bool is_opened_ = false;
  std::size_t units_asked_ = 0;  // since the last success
  SymbolCache::Answers answers_;
};

struct Symbols::State {
  SymbolCache cache;
  std::unordered_map<std::string, Module> modules;  // by path and build id
  ResolvedFrame no_module{.state = SymbolState::no_module, .functions = {}};
};

Symbols::Symbols(const std::string& cache_folder)
    : state_(std::make_unique<State>(State{.cache = SymbolCache(cache_folder), .modules = {}})) {}

Symbols::~Symbols() try {
  for (const auto& [key, module] : state_->modules) module.keep(state_->cache);
} catch (const std::bad_alloc&) {  // the answers are looked up again next time
  return;
}

std::size_t Symbols::opened() const {
  const auto& modules = state_->modules;
  return static_cast<std::size_t>(std::count_if(
      modules.begin(), modules.end(), [](const auto& one) { return one.second.is_opened(); }));
}

const ResolvedFrame& Symbols::resolve(const ModuleFact& module, std::uint64_t offset) {
  std::string key(may_be_path(module.path));
  key.append(1, '\0').append(module.build_id);
  return state_->modules.try_emplace(key, module, state_->cache).first->second.resolve(offset);
}

const ResolvedFrame& Symbols::resolve(const Report& report, const FrameFact& frame) {
  if (frame.module >= report.modules.size()) return state_->no_module;
  return resolve(report.modules[frame.module], frame.offset);
}

}  // namespace vramscope
