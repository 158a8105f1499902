// ModuleTable knows the objects mapped into this process, and which of them an address belongs to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allocator/ground/capability.h"
#include "reporter/ground/facts.h"

namespace vramscope {

struct LoadedModule {
  ModuleFact fact;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// What the loader says at one instant. adds and subs count objects ever loaded and unloaded.
struct LoadedModules {
  std::vector<LoadedModule> modules;
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
};

// Threads: any. The loader is never asked while our lock is held.
class ModuleTable {
 public:
  // Asks the loader, if anything was loaded or unloaded since. May throw bad_alloc.
  void refresh();
  void apply(LoadedModules loaded);  // refresh() without the loader; may throw bad_alloc
  // The frames of `addresses` (return addresses), in order. May throw bad_alloc.
  [[nodiscard]] std::vector<FrameFact> resolve(std::span<const std::uintptr_t> addresses) const;
  // Raised whenever an object was unloaded: addresses may mean something else from then on.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_acquire);
  }
  // How many objects were ever loaded, as of the last refresh.
  [[nodiscard]] std::uint64_t loaded() const;
  // The path of a loaded object whose file's name begins like that, "" for none. May throw
  // bad_alloc.
  [[nodiscard]] std::string loaded_file(std::string_view begin) const;
  [[nodiscard]] std::vector<ModuleFact> facts() const;  // may throw bad_alloc
  // Those that came or moved since `changes` was 0, or was set by the last call. May throw
  // bad_alloc, and then `changes` is as before.
  [[nodiscard]] Numbered<ModuleFact> changed_since(std::uint64_t& changes) const;
  // Whose memory a stack asks for, see StackOwner. `sources`: the files of its Python frames, of
  // each frame; empty: there are none. May throw bad_alloc.
  [[nodiscard]] std::string owner(const std::vector<FrameFact>& frames,
                                  const std::vector<std::string>& sources) const;
  // Whether the first frame's code does not merely pass calls on.
  [[nodiscard]] bool owns(const std::vector<FrameFact>& frames) const;

 private:
  struct Range {
    std::uintptr_t begin, end;
    std::uint32_t module;
    std::uintptr_t base;
  };
  std::uint32_t index_of(ModuleFact&& fact) VRAMSCOPE_REQUIRES(lock_);

  mutable SystemMutex lock_;
  // Ever seen; a module that is loaded again keeps its index.
  std::vector<ModuleFact> modules_ VRAMSCOPE_GUARDED_BY(lock_);
  // The last change of each, by its number among all.
  std::vector<std::uint64_t> changed_ VRAMSCOPE_GUARDED_BY(lock_);
  std::uint64_t changes_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::vector<Range> ranges_ VRAMSCOPE_GUARDED_BY(lock_);  // mapped now, by address
  std::uint64_t adds_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::uint64_t subs_ VRAMSCOPE_GUARDED_BY(lock_) = 0;
  std::atomic<std::uint32_t> epoch_{0};
};

}  // namespace vramscope
