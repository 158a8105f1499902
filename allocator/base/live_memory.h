// Live memory is memory of ours that outlives the process: pages of a file, which whoever reads the
// file afterwards maps at the same addresses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "allocator/base/capability.h"
#include "allocator/base/machine.h"
#include "allocator/base/own_file.h"

namespace vramscope {

// What has a stretch of the file, and of addresses, to itself.
enum class LivePart : std::uint32_t {
  header,
  objects,  // see LiveMemory::make()
  names,    // what tags and numbers mean, appended
  blocks,
  block_lives,
  pinned_blocks,
  pinned_block_lives,
  listed_segments,
  tags,
  tag_details,
  tag_histories,
  tag_groups,
  tag_joint_peaks,
  birth_times,
  count
};
inline constexpr std::size_t kLiveParts = static_cast<std::size_t>(LivePart::count);

// Bytes from the beginning of one part to that of the next, in the file and in memory. No power of
// two: the first level cache of some processors (AMD family 25, model 1) guesses by the low bits of
// an address where its line lies, and the beginnings of all parts, which most calls touch, would
// look alike to it.
inline constexpr std::uint64_t kLivePartBytes = (std::uint64_t{1} << 32) + 37 * kWholePage;

// Whether the file holds what nothing else has. Zero in files of versions that did not say.
enum class LiveState : std::uint32_t {
  needed,
  finished,  // nobody needs it, and whoever may removes it
  reported  // the same; its process has written its last report, which has the name of the next one
};

// How other processes reach the helper thread of the process that writes the file, which has no
// socket until one of them rings (interpose/life/control.h). All of them may write here.
struct LiveControl {
  enum class State : std::uint32_t {
    unattended,  // no helper thread looks at this
    closed,      // there is no socket: raise `asked` and `bell`, and wake who waits for `bell`
    open,        // the socket is there
    failed,      // it could not be made: `problem` says why
    off          // the program was started with --control off
  };
  std::atomic<std::uint32_t> bell{0};      // a shared futex: the helper waits for a change
  std::atomic<std::uint32_t> asked{0};     // how often others asked for a socket
  std::atomic<std::uint32_t> answered{0};  // the number of the last one that the helper has seen
  std::atomic<State> state{State::unattended};
  std::atomic<std::uint32_t> problem{0};  // errno
  std::array<char, 256> path{};           // of the socket, where its process sees it
};

// The first bytes of the file. Zero bytes where nothing is known yet. Pointers are those of the
// process that wrote it, all into parts.
struct LiveHeader {
  static constexpr std::uint64_t kMagic = 0x6576696c2d6d7276;  // "vrm-live"
  static constexpr std::uint32_t kFormat = 4;

  std::uint64_t magic = 0;  // set last: the file can be read
  std::uint32_t format = 0;
  std::uint32_t parts = 0;                // kLiveParts
  std::uint64_t base = 0;                 // address of this header
  std::atomic<std::uint32_t> problem{0};  // errno of why some memory is not in the file; 0: all is
  std::atomic<LiveState> state{LiveState::needed};
  // What each room begins with; null until it is there.
  std::atomic<const void*> allocator{nullptr};
  std::atomic<const void*> recorder{nullptr};
  std::atomic<const void*> process{nullptr};
  // Bytes of each part that are in the file, and that there are.
  std::array<std::atomic<std::uint64_t>, kLiveParts> bytes{};
  std::array<std::atomic<std::uint64_t>, kLiveParts> extent{};
  // As which file it was made: a copy has another number, and one that the user renamed has
  // another name. Nobody but the user removes those.
  std::uint64_t number = 0;      // st_ino
  std::array<char, 256> name{};  // without folders; no file system has longer ones
  // Who makes it, so that it can be told of one that was cut off, too (report/live/live_owner.h).
  alignas(8) std::array<std::byte, 128> owner{};
  LiveControl control;
};

// Room in the file is reserved before it is touched, so that a full file system fails nobody; from
// then on memory comes from the system, at the addresses that follow, and the file is not whole
// any more. Nothing here outlives a fork in the child: there the pages are not.
// Threads: any, each part one at a time.
class LiveMemory {
 public:
  // Nothing is live.
  LiveMemory() = default;
  LiveMemory(const LiveMemory&) = delete;
  LiveMemory& operator=(const LiveMemory&) = delete;

  // Takes an empty file that the caller made, and to which `path` leads. The descriptor
  // may be closed afterwards; what is mapped keeps the file open, and its lock held. 0, or errno
  // and nothing is live: ENOSPC also where too little would be left to others.
  [[nodiscard]] int begin(int file, const char* path) noexcept;

  // Nobody needs the file from now on. It says so, for whoever finds it where this process may not
  // remove it, and loses its name, if the same file still has it; the memory stays. Keeps errno.
  void finish(LiveState how) noexcept;
  // It is needed again, if it could not be removed. Keeps errno.
  [[nodiscard]] bool revive() noexcept;

  [[nodiscard]] bool is_live() const noexcept { return header_ != nullptr; }
  // Null when nothing is live.
  [[nodiscard]] LiveHeader* header() const noexcept { return header_; }

  // The pages of a part, zeroed where they are new: `wanted` bytes in place of `bytes`, both whole
  // pages or 0. nullptr: neither the file nor the system has them, or the part would be too large.
  [[nodiscard]] void* grow(LivePart part, std::size_t bytes, std::size_t wanted) noexcept;

  // Something in LivePart::objects that is never destroyed. nullptr: out of memory.
  template <class T, class... Args>
  [[nodiscard]] T* make(Args&&... args) {
    void* const at = allocate(sizeof(T), alignof(T));
    return at == nullptr ? nullptr : new (at) T(std::forward<Args>(args)...);
  }
  // Zeroed; `alignment` a power of two up to a page.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept;

 private:
  static constexpr std::size_t kLongestPath = 4096;

  [[nodiscard]] int map_parts(int file) noexcept;
  void keep_path(const char* path) noexcept;
  [[nodiscard]] int extend(LivePart part, std::size_t bytes, std::size_t wanted) noexcept;
  void map_in_child(LivePart part, std::size_t bytes, std::size_t wanted) noexcept;
  [[nodiscard]] int reserve_by_path(std::uint64_t offset, std::size_t bytes) const noexcept;
  [[nodiscard]] std::uint64_t address_of(LivePart part) const noexcept {
    return base_ + static_cast<std::uint64_t>(part) * kLivePartBytes;
  }

  LiveHeader* header_ = nullptr;
  std::uint64_t base_ = 0;
  FileIdentity own_;
  std::atomic<bool> has_name_{true};       // as far as it is known
  std::array<char, kLongestPath> path_{};  // of its folder; behind a null byte comes its name
  const char* name_ = nullptr;
  SystemMutex objects_lock_;
  std::size_t object_bytes_ VRAMSCOPE_GUARDED_BY(objects_lock_) = 0;  // there are
  std::size_t objects_used_ VRAMSCOPE_GUARDED_BY(objects_lock_) = 0;  // of them
};

// Ends an object that is live, or one of `new`.
template <class T>
struct LiveEnd {
  bool is_live = false;
  void operator()(T* object) const noexcept {
    if (!is_live) {
      delete object;
    } else {
      object->~T();
    }
  }
};
template <class T>
using LivePointer = std::unique_ptr<T, LiveEnd<T>>;

// An object in live memory, or in memory of `new` when nothing is live. nullptr: out of memory.
template <class T, class... Args>
[[nodiscard]] LivePointer<T> make_live(LiveMemory* memory, Args&&... args) {
  if (memory != nullptr && memory->is_live()) {
    return {memory->make<T>(std::forward<Args>(args)...), {.is_live = true}};
  }
  return {new (std::nothrow) T(std::forward<Args>(args)...), {}};
}

// Where an array has its pages: a part, or, by default, memory from the system.
struct LivePages {
  LiveMemory* memory = nullptr;
  LivePart part = LivePart::header;
  [[nodiscard]] bool is_live() const noexcept { return memory != nullptr && memory->is_live(); }
};

}  // namespace vramscope
