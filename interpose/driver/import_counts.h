// ImportCounts counts how often the program has each piece of imported memory open. An IPC handle
// that is opened again gives the same address, and the memory goes with the last close.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <new>

#include "allocator/base/capability.h"
#include "allocator/base/place.h"

namespace vramscope {

// Threads: any.
class ImportCounts {
 public:
  using Handle = std::array<unsigned char, 64>;  // the bytes of a CUipcMemHandle
  // The unique number of an import, from its first open to its last close.
  using Number = std::uint64_t;

  // Counts an open and returns how often the memory is open now; 1 also if our memory is exhausted.
  // The driver may give an address to another import before it answers the call that closes the
  // previous one. So if every open at the address is being closed, another handle means other
  // memory.
  [[nodiscard]] std::uint64_t add(Address address, const Handle& handle) noexcept {
    const SystemLock lock(mutex_);
    try {
      Import& import = imports_[address];
      const bool is_gone = import.opens <= import.closing && import.handle != handle;
      if (import.opens == 0 || is_gone) import = {.handle = handle, .number = ++newest_};
      return ++import.opens;
    } catch (const std::bad_alloc&) {
      return 1;
    }
  }
  // Counts an open after the previous memory at the address ended with its context.
  void begin_again(Address address) noexcept {
    const SystemLock lock(mutex_);
    if (const auto it = imports_.find(address); it != imports_.end()) it->second.opens = 1;
  }
  // Call it before the driver closes the memory, and remove() or refused() afterwards.
  [[nodiscard]] Number begin_close(Address address) noexcept {
    const SystemLock lock(mutex_);
    const auto it = imports_.find(address);
    if (it == imports_.end()) return 0;
    ++it->second.closing;
    return it->second.number;
  }
  // Counts a close and returns how often the memory is still open.
  [[nodiscard]] std::uint64_t remove(Address address, Number number) noexcept {
    const SystemLock lock(mutex_);
    const auto it = find(address, number);
    if (it == imports_.end()) return 0;
    --it->second.closing;
    if (--it->second.opens > 0) return it->second.opens;
    imports_.erase(it);
    return 0;
  }
  void refused(Address address, Number number) noexcept {
    const SystemLock lock(mutex_);
    if (const auto it = find(address, number); it != imports_.end()) --it->second.closing;
  }

 private:
  struct Import {
    Handle handle{};
    Number number = 0;
    std::uint64_t opens = 0;
    std::uint64_t closing = 0;
  };
  using Imports = std::map<Address, Import>;

  [[nodiscard]] Imports::iterator find(Address address, Number number) VRAMSCOPE_REQUIRES(mutex_) {
    const auto it = imports_.find(address);
    return it != imports_.end() && it->second.number == number ? it : imports_.end();
  }

  SystemMutex mutex_;
  Imports imports_ VRAMSCOPE_GUARDED_BY(mutex_);
  Number newest_ VRAMSCOPE_GUARDED_BY(mutex_) = 0;
};

}  // namespace vramscope
