// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/bypasses.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "interpose/loader/loader.h"
#include "interpose/loader/lookup.h"
#include "interpose/loader/mapped_object.h"
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

struct Search {
  std::vector<MappedObject> drivers;
  std::vector<std::string> bypassing;  // libraries whose references bypass us
  bool failed = false;
};

// Whether the reference to an intercepted function resolves to `target` behind us.
bool ends_past_us(const char* name, std::uintptr_t target,
                  const std::vector<MappedObject>& drivers) {
  if (std::strcmp(name, "dlsym") == 0) {
    return target == reinterpret_cast<std::uintptr_t>(dlsym_of_c_library());
  }
  return is_intercepted(name) &&
         std::any_of(drivers.begin(), drivers.end(),
                     [&](const MappedObject& d) { return d.contains(target); });
}

bool binds_past_us(const MappedObject& object, const std::vector<MappedObject>& drivers) {
  if (object.dynamic == nullptr) return false;
  const DynamicTables found = tables_of(object);
  if (found.symbols == nullptr || found.names == nullptr) return false;
  for (std::size_t table = 0; table < found.relocations.size(); ++table) {
    if (found.relocations[table] == nullptr) continue;
    const std::size_t count = found.bytes[table] / sizeof(ElfW(Rela));
    for (std::size_t i = table == 1 ? found.relative : 0; i < count; ++i) {
      const ElfW(Rela)& reference = found.relocations[table][i];
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
    if (is_driver_file(info->dlpi_name)) search.drivers.push_back(described(*info));
  } catch (...) {
    search.failed = true;
  }
  return search.failed ? 1 : 0;
}

int note_bypass(dl_phdr_info* info, std::size_t, void* argument) noexcept {
  Search& search = *static_cast<Search*>(argument);
  try {
    if (is_driver_file(info->dlpi_name)) return 0;
    MappedObject object = described(*info);
    if (binds_past_us(object, search.drivers)) search.bypassing.push_back(std::move(object.path));
  } catch (...) {
    search.failed = true;
  }
  return search.failed ? 1 : 0;
}

// Whether a driver is mapped that our loader namespace does not know.
bool has_foreign_driver(const std::vector<MappedObject>& drivers) {
  const std::vector<Mapping> all = mappings();
  return std::any_of(all.begin(), all.end(), [&](const Mapping& one) {
    if (!one.is_code || !is_driver_file(one.path.c_str())) return false;
    return std::none_of(drivers.begin(), drivers.end(),
                        [&](const MappedObject& driver) { return driver.contains(one.begin); });
  });
}

}  // namespace

std::vector<std::string> find_bypasses(bool comes_first) {
  Search search;
  dl_iterate_phdr(note_driver, &search);
  if (comes_first) dl_iterate_phdr(note_bypass, &search);
  if (search.failed) throw std::bad_alloc();
  std::vector<std::string> lines;
  for (const std::string& path : search.bypassing) {
    lines.push_back(path + " was loaded with RTLD_DEEPBIND: its CUDA calls are not recorded");
  }
  for (const MappedObject& driver : search.drivers) {
    const auto* const init = reinterpret_cast<const void*>(real().cuInit.pointer());
    if (driver.contains(reinterpret_cast<std::uintptr_t>(init))) continue;
    if (symbol_of_mapped(driver.path.c_str(), "cuInit") == init) continue;  // it comes before ours
    lines.push_back(driver.path + " is a second driver: calls to it are not recorded");
  }
  if (has_foreign_driver(search.drivers)) {
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
