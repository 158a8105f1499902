// Reads the loader's list with dl_iterate_phdr, and finds modules by address.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/module_table.h"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "reporter/record/stack/owners.h"
#include "reporter/record/stack/recorded_walk.h"

namespace vramscope {

namespace {

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(count * 2);
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::size_t padded(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Returns the GNU build id among the notes at `begin`, or "".
std::string build_id_in(const unsigned char* begin, std::size_t bytes, std::size_t alignment) {
  constexpr std::size_t kLongestBuildId = 64;  // SHA-1 has 20; a longer one is garbage
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= bytes) {
    ElfW(Nhdr) note;
    std::memcpy(&note, begin + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t text = name + padded(note.n_namesz, alignment);
    const std::size_t next = text + padded(note.n_descsz, alignment);
    if (next > bytes || next <= at) return {};
    const bool gnu = note.n_namesz == 4 && std::memcmp(begin + name, "GNU", 4) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kLongestBuildId) {
      return hexadecimal(begin + text, note.n_descsz);
    }
    at = next;
  }
  return {};
}

std::string build_id_of(const dl_phdr_info& object, const LoadedModule& module) {
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    const std::uintptr_t begin = object.dlpi_addr + header.p_vaddr;
    if (header.p_type != PT_NOTE || begin < module.begin || begin >= module.end) continue;
    const std::size_t bytes = std::min<std::size_t>(header.p_memsz, module.end - begin);
    std::string id = build_id_in(reinterpret_cast<const unsigned char*>(begin), bytes,
                                 header.p_align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  return {};
}

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

LoadedModule describe(const dl_phdr_info& object) {
  LoadedModule module;
  module.fact.base = object.dlpi_addr;
  module.begin = ~std::uintptr_t{0};
  for (std::size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = object.dlpi_addr + header.p_vaddr;
    module.begin = std::min(module.begin, begin);
    module.end = std::max(module.end, begin + header.p_memsz);
  }
  module.fact.path = object.dlpi_name != nullptr ? object.dlpi_name : "";
  module.fact.build_id = build_id_of(object, module);
  return module;
}

struct Walk {
  LoadedModules loaded;
  std::uint64_t known_adds, known_subs;
  bool changed = false;
  bool failed = false;
};

// Runs under the loader's lock, so it only looks and copies, and lets no exception through C code.
int visit_object(dl_phdr_info* object, std::size_t, void* argument) noexcept {
  Walk& walk = *static_cast<Walk*>(argument);
  walk.loaded.adds = object->dlpi_adds;
  walk.loaded.subs = object->dlpi_subs;
  walk.changed = object->dlpi_adds != walk.known_adds || object->dlpi_subs != walk.known_subs;
  if (!walk.changed) return 1;
  try {
    walk.loaded.modules.push_back(describe(*object));
  } catch (...) {
    walk.failed = true;
    return 1;
  }
  return 0;
}

}  // namespace

void ModuleTable::refresh() {
  Walk walk{};
  {
    const SystemLock guard(lock_);
    walk.known_adds = adds_;
    walk.known_subs = subs_;
  }
  dl_iterate_phdr(visit_object, &walk);
  if (walk.failed) throw std::bad_alloc();
  if (!walk.changed) return;
  for (LoadedModule& module : walk.loaded.modules) {
    if (module.fact.path.empty()) module.fact.path = program_path();
  }
  apply(std::move(walk.loaded));
}

void ModuleTable::apply(LoadedModules loaded) {
  const SystemLock guard(lock_);
  // Another thread asked the loader later and has already stored its answer.
  if (loaded.adds < adds_ || loaded.subs < subs_) return;
  std::vector<Range> ranges;
  ranges.reserve(loaded.modules.size());
  for (LoadedModule& module : loaded.modules) {
    if (module.begin >= module.end) continue;
    const std::uintptr_t base = module.fact.base;
    ranges.push_back({module.begin, module.end, index_of(std::move(module.fact)), base});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  ranges_ = std::move(ranges);
  adds_ = loaded.adds;
  if (loaded.subs != subs_) {
    epoch_.fetch_add(1, std::memory_order_release);
    recorded_walk::forget_rules();
  }
  subs_ = loaded.subs;
}

std::uint32_t ModuleTable::index_of(ModuleFact&& fact) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].path != fact.path || modules_[i].build_id != fact.build_id) continue;
    if (modules_[i].base != fact.base) changed_[i] = ++changes_;
    modules_[i].base = fact.base;
    return static_cast<std::uint32_t>(i);
  }
  changed_.reserve(modules_.size() + 1);
  modules_.push_back(std::move(fact));
  changed_.push_back(++changes_);
  return static_cast<std::uint32_t>(modules_.size() - 1);
}

std::vector<FrameFact> ModuleTable::resolve(std::span<const std::uintptr_t> addresses) const {
  std::vector<FrameFact> frames;
  frames.reserve(addresses.size());
  const SystemLock guard(lock_);
  for (const std::uintptr_t address : addresses) {
    // A call may be a module's last instruction. Then the return address lies behind the module.
    const std::uintptr_t inside = address - 1;
    auto range = std::upper_bound(ranges_.begin(), ranges_.end(), inside,
                                  [](std::uintptr_t a, const Range& r) { return a < r.begin; });
    const bool found = range != ranges_.begin() && inside < (--range)->end;
    frames.push_back(found ? FrameFact{range->module, address - range->base}
                           : FrameFact{kNoModule, address});
  }
  return frames;
}

// The loader lists the program first, so it has the index 0.
std::string ModuleTable::owner(const std::vector<FrameFact>& frames,
                               const std::vector<std::string>& sources) const {
  const SystemLock guard(lock_);
  StackOwner owner;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::uint32_t module = frames[i].module;
    const bool is_python = frames[i].code != kNoCode && i < sources.size();
    if (is_python ? owner.add_python(sources[i])
                  : module < modules_.size() &&  // generated code: its maker called it
                        owner.add_object(modules_[module].path, module == 0)) {
      break;
    }
  }
  return owner.name();
}

bool ModuleTable::owns(const std::vector<FrameFact>& frames) const {
  const SystemLock guard(lock_);
  const bool is_known = !frames.empty() && frames.front().module < modules_.size();
  return is_known && !only_passes_on(modules_[frames.front().module].path);
}

std::uint64_t ModuleTable::loaded() const {
  const SystemLock guard(lock_);
  return adds_;
}

std::string ModuleTable::loaded_file(std::string_view begin) const {
  const SystemLock guard(lock_);
  for (const Range& range : ranges_) {
    const std::string_view path = modules_[range.module].path;
    if (path.substr(path.rfind('/') + 1).starts_with(begin)) return std::string(path);
  }
  return {};
}

std::vector<ModuleFact> ModuleTable::facts() const {
  const SystemLock guard(lock_);
  return modules_;
}

Numbered<ModuleFact> ModuleTable::changed_since(std::uint64_t& changes) const {
  const SystemLock guard(lock_);
  return rows_changed_since(changes, changes_, modules_, changed_);
}

}  // namespace vramscope
