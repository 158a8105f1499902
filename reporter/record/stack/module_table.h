// ModuleTable knows the objects mapped into this process, and to which of them an address belongs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allocator/base/capability.h"
#include "reporter/base/facts.h"

namespace vramscope {

struct LoadedModule {
  ModuleFact fact;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// The loader's list at one instant. adds and subs count the objects ever loaded and unloaded.
struct LoadedModules {
  std::vector<LoadedModule> modules;
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
};

// Threads: any. The loader is never asked while our lock is held.
class ModuleTable {
 public:
  // Asks the loader if anything was loaded or unloaded since the last call. May throw bad_alloc.
  void refresh();
  void apply(LoadedModules loaded);  // refresh() without the loader; may throw bad_alloc
  // Returns the frames of `addresses` (return addresses) in order. May throw bad_alloc.
  [[nodiscard]] std::vector<FrameFact> resolve(std::span<const std::uintptr_t> addresses) const;
  // Returns a number that grows whenever an object was unloaded: from then on addresses may mean
  // something else.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_acquire);
  }
  // Returns how many objects were ever loaded, as of the last refresh.
  [[nodiscard]] std::uint64_t loaded() const;
  // Returns the path of a loaded object whose file name begins with `begin`, or "". May throw
  // bad_alloc.
  [[nodiscard]] std::string loaded_file(std::string_view begin) const;
  [[nodiscard]] std::vector<ModuleFact> facts() const;  // may throw bad_alloc
  // Returns the modules that were added or moved since the call that set `changes`, or since the
  // start if it is 0. May throw bad_alloc; `changes` is then unchanged.
  [[nodiscard]] Numbered<ModuleFact> changed_since(std::uint64_t& changes) const;
  // Returns the owner of a stack's memory, see StackOwner. sources: the file of each frame if it is
  // a Python frame; empty: the stack has none. May throw bad_alloc.
  [[nodiscard]] std::string owner(const std::vector<FrameFact>& frames,
                                  const std::vector<std::string>& sources) const;
  // Returns whether the first frame's code does more than pass calls on.
  [[nodiscard]] bool owns(const std::vector<FrameFact>& frames) const;

 private:
  struct Range {
    std::uintptr_t begin, end;
    std::uint32_t module;
    std::uintptr_t base;
  };
  std::uint32_t index_of(ModuleFact&& fact) VRAMSCOPE_REQUIRES(lock_);

  mutable SystemMutex lock_;
  // All modules ever seen. A module that is loaded again keeps its index.
  std::vector<ModuleFact> modules_ VRAMSCOPE_GUARDED_BY(lock_);
  // For each module, the number of its last change.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::vector<Range> ranges_ VRAMSCOPE_GUARDED_BY(lock_);  // those mapped now, by address
  std::uint64_t adds_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::uint64_t subs_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::atomic<std::uint32_t> epoch_{0};
};

}  // namespace vramscope
