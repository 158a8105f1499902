// Handles ranges and marks with data (NVTX's payload extension). NCCL begins its ranges with core
// functions, and ends those with data with the extension's (nvtxRangePopPayload).
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "allocator/base/capability.h"
#include "interpose/loader/loader.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/nvtx.h"
#include "interpose/tools/nvtx_extension.h"
#include "interpose/tools/nvtx_memory.h"

namespace vramscope {
namespace {

// Types of nvToolsExtPayload.h, which headers of CUDA 11 lack.
struct Payload {
  std::uint64_t schema;
  std::size_t size;
  const void* data;
};
struct Schema {
  std::uint64_t fields;  // bits of the given fields
  const char* name;
  std::uint64_t type;
  std::uint64_t flags;
  const void* entries;
  std::size_t entry_count;
  std::size_t static_size;
  std::size_t alignment;
  std::uint64_t id;
  void* extension;
};
constexpr std::uint16_t kPayloads = 2;  // the extension's number
constexpr std::uint64_t kHasName = 1 << 1;
constexpr std::uint64_t kHasId = 1 << 8;
constexpr std::uint64_t kFirstOwnId = std::uint64_t{1} << 32;

enum Slot : std::size_t {
  schema_register = 0,
  mark_payload = 2,
  push_payload = 3,
  pop_payload = 4,
  start_payload = 5,
  end_payload = 6,
  slots_known = 7,
};

using Initialise = int (*)(ExtensionModule* module);

// The functions of the user's own injection library; 0: none.
std::intptr_t others[slots_known];

template <class Function>
Function other(Slot slot) noexcept {
  return reinterpret_cast<Function>(others[slot]);
}

// The names of programs' schemas. Threads: any.
class Schemas {
 public:
  std::uint64_t add(const void* domain, const Schema& schema, std::uint64_t others_id) {
    const SystemLock guard(lock_);
    const std::uint64_t id = others_id != 0                  ? others_id
                             : (schema.fields & kHasId) != 0 ? schema.id
                                                             : kFirstOwnId + names_.size();
    const bool has_name = (schema.fields & kHasName) != 0 && schema.name != nullptr;
    names_.insert_or_assign(key(domain, id), has_name ? schema.name : "");
    return id;
  }
  [[nodiscard]] std::string name(const void* domain, const Payload* payloads, std::size_t count) {
    const SystemLock guard(lock_);
    for (std::size_t i = 0; payloads != nullptr && i < count; ++i) {
      const auto known = names_.find(key(domain, payloads[i].schema));
      if (known != names_.end() && !known->second.empty()) return known->second;
    }
    return "payload";
  }

 private:
  static std::uint64_t key(const void* domain, std::uint64_t id) {
    return reinterpret_cast<std::uintptr_t>(domain) * 0x9e3779b97f4a7c15 ^ id;
  }
  SystemMutex lock_;
  std::unordered_map<std::uint64_t, std::string> names_ VRAMSCOPE_GUARDED_BY(lock_);
};
// Made at first use and never destroyed, because ranges may end in the program's last exit
// handlers.
std::atomic<Schemas*> schemas{nullptr};

std::string name_of(const void* domain, const Payload* payloads, std::size_t count) noexcept {
  return unseen([&] {
    Schemas* const known = schemas.load(std::memory_order_acquire);
    return known == nullptr ? std::string() : known->name(domain, payloads, count);
  });
}

// Bodies. The other library is called first: its answers are the program's.
std::uint64_t register_schema(const void* domain, const Schema* schema) {
  using Function = std::uint64_t (*)(const void*, const Schema*);
  const auto others_own = other<Function>(schema_register);
  const std::uint64_t id = others_own != nullptr ? others_own(domain, schema) : 0;
  Schemas* const known = schemas.load(std::memory_order_acquire);
  if (schema == nullptr || known == nullptr) return id;
  return unseen([&] { return known->add(domain, *schema, id); });
}
void mark_with_data(const void* domain, const Payload* payloads, std::size_t count) {
  using Function = void (*)(const void*, const Payload*, std::size_t);
  if (const auto others_own = other<Function>(mark_payload)) others_own(domain, payloads, count);
  set_mark(domain, name_of(domain, payloads, count));
}
int push_with_data(const void* domain, const Payload* payloads, std::size_t count) {
  using Function = int (*)(const void*, const Payload*, std::size_t);
  const auto others_own = other<Function>(push_payload);
  const int theirs = others_own != nullptr ? others_own(domain, payloads, count) : 0;
  const int depth = push_range(domain, name_of(domain, payloads, count));
  return others_own != nullptr ? theirs : depth;
}
int pop_with_data(const void* domain, const Payload* payloads, std::size_t count) {
  using Function = int (*)(const void*, const Payload*, std::size_t);
  const auto others_own = other<Function>(pop_payload);
  const int theirs = others_own != nullptr ? others_own(domain, payloads, count) : 0;
  const int depth = pop_range(domain);
  return others_own != nullptr ? theirs : depth;
}
std::uint64_t start_with_data(const void* domain, const Payload* payloads, std::size_t count) {
  using Function = std::uint64_t (*)(const void*, const Payload*, std::size_t);
  const auto others_own = other<Function>(start_payload);
  const std::uint64_t theirs = others_own != nullptr ? others_own(domain, payloads, count) : 0;
  return start_range(domain, name_of(domain, payloads, count), theirs);
}
void end_with_data(const void* domain, std::uint64_t id, const Payload* payloads,
                   std::size_t count) {
  using Function = void (*)(const void*, std::uint64_t, const Payload*, std::size_t);
  if (const auto others_own = other<Function>(end_payload)) {
    others_own(domain, id, payloads, count);
  }
  end_range(id);
}

int extend(ExtensionModule* module) {
  void* const library = other_nvtx_library();
  void* const function =
      library == nullptr ? nullptr : real_dlsym(library, "InitializeInjectionNvtxExtension");
  const int has_other = function == nullptr ? 0 : reinterpret_cast<Initialise>(function)(module);
  const bool is_ours = (module->id == kPayloads || module->id == kMemoryExtension) &&
                       module->segment_count != 0 && module->segments != nullptr &&
                       module->segments->slots != nullptr;
  if (!is_ours || switched_off() || is_in_secure_execution()) return has_other;
  static_cast<void>(ranges_or_make());  // a program may use nothing else of NVTX
  ExtensionSegment& segment = *module->segments;
  if (module->id == kMemoryExtension) {
    take_memory_extension(segment);
    return 1;
  }
  if (schemas.load(std::memory_order_acquire) == nullptr) {
    auto* const made = new Schemas;
    Schemas* none = nullptr;
    if (!schemas.compare_exchange_strong(none, made, std::memory_order_acq_rel)) delete made;
  }
  const auto fill = [&](Slot slot, auto* function) {
    fill_slot(segment, slot, function, others[slot]);
  };
  fill(schema_register, register_schema);
  fill(mark_payload, mark_with_data);
  fill(push_payload, push_with_data);
  fill(pop_payload, pop_with_data);
  fill(start_payload, start_with_data);
  fill(end_payload, end_with_data);
  return 1;
}

}  // namespace
}  // namespace vramscope

// Each copy of NVTX in the process calls this once for each extension that it uses. Returns 0 for
// no tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    void* module) {
  try {
    return module == nullptr ? 0
                             : vramscope::extend(static_cast<vramscope::ExtensionModule*>(module));
  } catch (...) {
    return 0;
  }
}
