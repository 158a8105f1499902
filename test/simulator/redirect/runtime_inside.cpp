// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/redirect/runtime_inside.h"

#include <limits.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "test/simulator/redirect/elf_file.h"

namespace vramscope::simulator {
namespace {

// Functions of NVIDIA's runtime that are not public; nobody else's are called so.
bool is_inner(std::string_view name) {
  return name.starts_with("libcudart_static_") || name.starts_with("__cudart");
}

bool may_be_public(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("__cuda");
}

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Of the file itself, where the path is a link.
std::string folder_of(const std::string& path) {
  char whole[PATH_MAX];
  const std::string resolved = realpath(path.c_str(), whole) != nullptr ? whole : path;
  return resolved.substr(0, resolved.rfind('/'));
}

// The functions of an object's own table, else of its debug file's. A shared runtime exports them.
struct Symbols {
  std::optional<ElfFile> file;  // whose names the functions have
  std::vector<ElfFunction> functions;
};
Symbols symbols_of(const ElfFile& object, const std::string& path) {
  Symbols symbols;
  if (file_of(path).starts_with("libcudart.so")) {
    symbols.functions = object.functions(SHT_DYNSYM);
    return symbols;
  }
  symbols.functions = object.functions(SHT_SYMTAB);
  if (!symbols.functions.empty()) return symbols;
  std::vector<std::string> places;
  if (const std::string id = object.build_id(); id.size() > 2) {
    places.push_back("/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug");
  }
  if (const std::string link = object.debug_link(); !link.empty()) {
    places.push_back(folder_of(path) + "/" + link);
    places.push_back(folder_of(path) + "/.debug/" + link);
  }
  for (const std::string& place : places) {
    symbols.file = ElfFile::open(place);
    if (symbols.file && symbols.file->build_id() == object.build_id()) {
      symbols.functions = symbols.file->functions(SHT_SYMTAB);
      if (!symbols.functions.empty()) return symbols;
    }
  }
  return symbols;
}

// The number of a version, 12080, that the code from `address` on answers; 0: none is seen.
// cudaRuntimeGetVersion calls an inner function that writes it to where its argument points.
int version_stored(const ElfFile& object, std::uint64_t address) {
  constexpr std::size_t kMost = 32;  // bytes, of a short function
  const auto code = object.at(address);
  for (std::size_t at = 0; at + 8 <= std::min(code.size(), kMost); ++at) {
#ifdef __aarch64__
    std::uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof word);
    const bool is_move = at % 4 == 0 && (word & 0xffe00000U) == 0x52800000U;  // movz w, #
    const int value = is_move ? static_cast<int>((word >> 5) & 0xffffU) : 0;
#else
    const bool is_move = code[at] == std::byte{0xc7} && code[at + 1] == std::byte{0x07};
    int value = 0;  // mov dword [rdi], #
    if (is_move) std::memcpy(&value, code.data() + at + 2, sizeof value);
#endif
    if (value >= 10000 && value < 100000 && value % 10 == 0) return value;
  }
  return 0;
}

// The same of a function that may only call the one which does.
int version_answered(const ElfFile& object, const ElfFunction& function) {
  if (const int own = version_stored(object, function.address); own != 0) return own;
  const auto code = object.at(function.address);
  const std::size_t bytes = std::min<std::size_t>(code.size(), function.bytes);
  for (std::size_t at = 0; at + 5 <= bytes; ++at) {
    std::uint64_t called = 0;
#ifdef __aarch64__
    std::uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof word);
    if (at % 4 != 0 || (word & 0xfc000000U) != 0x94000000U) continue;  // bl
    const auto distance = static_cast<std::int32_t>(word << 6) >> 6;
    called = function.address + at + static_cast<std::uint64_t>(std::int64_t{distance} * 4);
#else
    if (code[at] != std::byte{0xe8}) continue;  // call
    std::int32_t distance = 0;
    std::memcpy(&distance, code.data() + at + 1, sizeof distance);
    called = function.address + at + 5 + static_cast<std::uint64_t>(std::int64_t{distance});
#endif
    if (const int value = version_stored(object, called); value != 0) return value;
  }
  return 0;
}

int version_of(const ElfFile& object, const std::vector<ElfFunction>& functions) {
  for (const ElfFunction& function : functions) {
    if (function.name != "cudaRuntimeGetVersion") continue;
    if (const int version = version_answered(object, function); version != 0) return version;
  }
  // A linker may have dropped it. These names came or went with a major version.
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(functions, [&](const auto& one) { return one.name == name; });
  };
  if (has("cudaBindTexture") || has("__cudaRegisterTexture")) return 11000;
  if (has("cudaGetDeviceProperties_v2") || has("cudaThreadSynchronize")) return 12000;
  return has("cudaGetDeviceProperties") ? 13000 : 0;
}

std::set<std::string, std::less<>> names_of(const std::string& library) {
  std::set<std::string, std::less<>> names;
  if (const auto file = ElfFile::open(library)) {
    for (const ElfFunction& one : file->functions(SHT_DYNSYM)) names.emplace(one.name);
  }
  return names;
}

// The file has the bytes, too: the offset of a segment can lie behind the file's end.
bool is_in_code(const ElfFile& object, std::uint64_t address, std::uint64_t bytes) {
  if (object.at(address).size() < bytes) return false;
  return std::ranges::any_of(object.segments(), [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
           address >= segment.p_vaddr && bytes <= segment.p_filesz &&
           address - segment.p_vaddr <= segment.p_filesz - bytes;
  });
}

// What is between the end of a function and the next one that a compiler aligned.
std::uint64_t padding_behind(const ElfFile& object, std::uint64_t end, std::uint64_t next) {
  constexpr std::uint64_t kAlignment = 16;
  const std::uint64_t aligned = (end + kAlignment - 1) / kAlignment * kAlignment;
  return std::min(aligned, next) - end < object.at(end).size() ? std::min(aligned, next) - end : 0;
}

std::string wrong_table(std::string_view what, std::string_view function) {
  return "its symbol table is wrong (" + std::string(function) + " " + std::string(what) + ")";
}

// Fills in what can be redirected, or why nothing can.
void choose(const ElfFile& object, std::vector<ElfFunction> all,
            const std::set<std::string, std::less<>>& names, RuntimeInside& found) {
  std::ranges::stable_sort(all, {}, &ElfFunction::address);
  std::map<std::string_view, std::uint64_t> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ElfFunction& one = all[i];
    if (!may_be_public(one.name) || names.find(one.name) == names.end()) continue;
    const auto refuse = [&](std::string_view what) { found.problem = wrong_table(what, one.name); };
    if (one.bytes == 0) return refuse("has no size");
    if (!is_in_code(object, one.address, one.bytes)) return refuse("lies outside its code");
    const auto [first, is_new] = seen.emplace(one.name, one.address);
    if (!is_new && first->second == one.address) continue;
    if (!is_new) {
      found.problem = "it has two runtimes inside (two functions " + std::string(one.name) + ")";
      return;
    }
    std::size_t behind = i + 1;  // other names of the same function stand between
    while (behind < all.size() && all[behind].address == one.address) ++behind;
    // A linker that folds equal functions gives one several names: it is redirected once.
    if (!found.functions.empty() && found.functions.back().address == one.address) continue;
    const std::uint64_t end = one.address + one.bytes;
    const std::uint64_t next = behind < all.size() ? all[behind].address : UINT64_MAX;
    if (next < end) return refuse("overlaps " + std::string(all[behind].name));
    found.functions.push_back(
        {std::string(one.name), one.address, one.bytes + padding_behind(object, end, next)});
  }
}

int rights_at(const ElfFile& object, std::uint64_t address) {
  int rights = 0;
  for (const Elf64_Phdr& segment : object.segments()) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
        address - segment.p_vaddr >= segment.p_filesz) {
      continue;
    }
    rights |= (segment.p_flags & PF_R) != 0 ? PROT_READ : 0;
    rights |= (segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0;
    rights |= (segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0;
  }
  return rights;
}

bool is_mapped_file(const ElfFile& object, std::uint64_t dynamic) {
  return std::ranges::any_of(object.segments(), [dynamic](const Elf64_Phdr& segment) {
    return segment.p_type == PT_DYNAMIC && segment.p_vaddr == dynamic;
  });
}

}  // namespace

ExportRows rows_to_replace(const std::string& path, std::uint64_t dynamic,
                           const std::string& library) {
  ExportRows found;
  const std::optional<ElfFile> object = ElfFile::open(path);
  if (!object || !is_mapped_file(*object, dynamic)) return found;
  const auto ours = names_of(library);
  const auto theirs = names_of(path);
  for (const ElfFunction& one : object->functions(SHT_DYNSYM)) {
    const bool has_both = theirs.contains("p" + std::string(one.name));
    if (one.place == 0 || !has_both || !ours.contains(one.name)) continue;
    found.rows.push_back({std::string(one.name), one.place, sizeof(Elf64_Sym)});
    found.rights = rights_at(*object, one.place);
  }
  return found;
}

RuntimeInside runtime_inside(const std::string& path, std::uint64_t dynamic,
                             const std::string& simulator) {
  RuntimeInside found;
  const std::optional<ElfFile> object = ElfFile::open(path);
  if (!object || !is_mapped_file(*object, dynamic)) return found;
  const Symbols symbols = symbols_of(*object, path);
  const bool is_shared = file_of(path).starts_with("libcudart.so");
  const bool is_runtime = is_shared || std::ranges::any_of(symbols.functions, [](const auto& one) {
                            return is_inner(one.name);
                          });
  const bool is_used = std::ranges::any_of(symbols.functions,
                                           [](const auto& one) { return may_be_public(one.name); });
  if (!is_runtime || !is_used) return found;
  const int version = version_of(*object, symbols.functions);
  const int major = version / 1000;
  if (major < 11 || major > 13) {
    found.problem = version == 0 ? "the version of NVIDIA's runtime inside is not known"
                                 : "NVIDIA's runtime inside is of CUDA " + std::to_string(major) +
                                       "." + std::to_string(version % 1000 / 10) +
                                       ", and the simulated runtimes are of 11 to 13";
    return found;
  }
  found.library = "libcudart.so." + std::to_string(major) + (major == 11 ? ".0" : "");
  choose(*object, symbols.functions, names_of(simulator + "/" + found.library), found);
  return found;
}

}  // namespace vramscope::simulator
