// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/bypasses.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "interpose/loader/loader.h"
#include "interpose/loader/lookup.h"
#include "interpose/loader/real.h"

namespace vramscope {
namespace {

// Relocations of functions that are called or whose address is taken.
#ifdef __aarch64__
constexpr auto kCalled = R_AARCH64_JUMP_SLOT;
constexpr auto kTaken = R_AARCH64_GLOB_DAT;
#else
constexpr auto kCalled = R_X86_64_JUMP_SLOT;
constexpr auto kTaken = R_X86_64_GLOB_DAT;
#endif

struct Object {
  std::string path;
  std::uintptr_t base = 0, begin = 0, end = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  [[nodiscard]] bool contains(std::uintptr_t address) const {
    return address >= begin && address < end;
  }
};

struct Search {
  std::vector<Object> drivers;
  std::vector<std::string> bypassing;  // libraries whose references bypass us
  bool failed = false;
};

Object describe(const dl_phdr_info& info) {
  Object object;
  object.path = info.dlpi_name;
  object.base = info.dlpi_addr;
  object.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t at = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_DYNAMIC) object.dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
    if (header.p_type != PT_LOAD) continue;
    object.begin = std::min(object.begin, at);
    object.end = std::max(object.end, at + header.p_memsz);
  }
  return object;
}

struct References {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::array<const ElfW(Rela)*, 2> tables{};
  std::array<std::size_t, 2> bytes{};
  std::size_t relative = 0;  // number of entries of tables[1] without a symbol
};

// The loader has added the base to the addresses, except in objects with a read-only table.
template <class T>
const T* address_in(const Object& object, const ElfW(Dyn) & entry) {
  std::uintptr_t address = entry.d_un.d_ptr;
  if (address < object.base) address += object.base;
  return object.contains(address) ? reinterpret_cast<const T*>(address) : nullptr;
}

References references_of(const Object& object) {
  References found;
  for (const ElfW(Dyn)* entry = object.dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) found.symbols = address_in<ElfW(Sym)>(object, *entry);
    if (entry->d_tag == DT_STRTAB) found.names = address_in<char>(object, *entry);
    if (entry->d_tag == DT_JMPREL) found.tables[0] = address_in<ElfW(Rela)>(object, *entry);
    if (entry->d_tag == DT_PLTRELSZ) found.bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) found.tables[1] = address_in<ElfW(Rela)>(object, *entry);
    if (entry->d_tag == DT_RELASZ) found.bytes[1] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELACOUNT) found.relative = entry->d_un.d_val;
  }
  return found;
}

// Whether the reference to an intercepted function resolves to `target` behind us.
bool ends_past_us(const char* name, std::uintptr_t target, const std::vector<Object>& drivers) {
  if (std::strcmp(name, "dlsym") == 0) {
    return target == reinterpret_cast<std::uintptr_t>(dlsym_of_c_library());
  }
  return is_intercepted(name) && std::any_of(drivers.begin(), drivers.end(),
                                             [&](const Object& d) { return d.contains(target); });
}

bool binds_past_us(const Object& object, const std::vector<Object>& drivers) {
  if (object.dynamic == nullptr) return false;
  const References found = references_of(object);
  if (found.symbols == nullptr || found.names == nullptr) return false;
  for (std::size_t table = 0; table < found.tables.size(); ++table) {
    if (found.tables[table] == nullptr) continue;
    const std::size_t count = found.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = table == 1 ? found.relative : 0; i < count; ++i) {
      const ElfW(Rela)& reference = found.tables[table][i];
      const auto type = ELF64_R_TYPE(reference.r_info);
      if (type != kCalled && type != kTaken) continue;
      const auto& symbol = found.symbols[ELF64_R_SYM(reference.r_info)];
      const auto* const slot =
          reinterpret_cast<const std::uintptr_t*>(object.base + reference.r_offset);
      if (ends_past_us(found.names + symbol.st_name, *slot, drivers)) return true;
    }
  }
  return false;
}

// Both are called for every object under the loader's lock, so nothing is unmapped meanwhile. They
// must not throw.
int note_driver(dl_phdr_info* info, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  try {
    if (is_driver_file(info->dlpi_name)) search.drivers.push_back(describe(*info));
  } catch (...) {
    search.failed = true;
  }
  return search.failed ? 1 : 0;
}

int note_bypass(dl_phdr_info* info, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  try {
    if (is_driver_file(info->dlpi_name)) return 0;
    Object object = describe(*info);
    if (binds_past_us(object, search.drivers)) search.bypassing.push_back(std::move(object.path));
  } catch (...) {
    search.failed = true;
  }
  return search.failed ? 1 : 0;
}

std::string read_maps() {
  std::string text;
  const int file = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 1 << 14> part{};
  for (ssize_t got; (got = ::read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

// Whether a driver is mapped that our loader namespace does not know.
bool has_foreign_driver(const std::string& maps, const std::vector<Object>& drivers) {
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string line = maps.substr(at, end - at);
    at = end + 1;
    unsigned long begin = 0;
    std::array<char, 5> rights{};
    const std::size_t path = line.find('/');
    if (path == line.npos || !is_driver_file(line.c_str() + path)) continue;
    if (std::sscanf(line.c_str(), "%lx-%*x %4s", &begin, rights.data()) != 2) continue;
    const bool known = std::any_of(drivers.begin(), drivers.end(),
                                   [&](const Object& driver) { return driver.contains(begin); });
    if (rights[2] == 'x' && !known) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> find_bypasses() {
  Search search;
  dl_iterate_phdr(note_driver, &search);
  dl_iterate_phdr(note_bypass, &search);
  if (search.failed) throw std::bad_alloc();
  std::vector<std::string> lines;
  for (const std::string& path : search.bypassing) {
    lines.push_back(path + " was loaded with RTLD_DEEPBIND: its CUDA calls are not recorded");
  }
  for (const Object& driver : search.drivers) {
    const auto* const init = reinterpret_cast<const void*>(real().cuInit.pointer());
    if (driver.contains(reinterpret_cast<std::uintptr_t>(init))) continue;
    if (symbol_of_mapped(driver.path.c_str(), "cuInit") == init) continue;  // it comes before ours
    lines.push_back(driver.path + " is a second driver: calls to it are not recorded");
  }
  if (has_foreign_driver(read_maps(), search.drivers)) {
    lines.emplace_back("a driver was loaded with dlmopen: calls to it are not recorded");
  }
  return lines;
}

std::string dlsym_before_ours() {
  Dl_info first{};
  void* const program = dlopen(nullptr, RTLD_LAZY);
  void* const found = real_dlsym(program, "dlsym");
  dlclose(program);
  if (found == reinterpret_cast<void*>(&dlsym) || dladdr(found, &first) == 0) return {};
  return std::string(first.dli_fname) +
         " overrides dlsym and was loaded before Vramscope: CUDA functions that are looked up "
         "through it are not recorded";
}

}  // namespace vramscope
