// Window is device addresses outside the devices' own memory: what a program reserved, and what
// other processes exported.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "allocator/base/place.h"

namespace vramscope::simulator {

// A range of addresses that the host cannot access, and a shadow into which pieces of files are
// mapped. Unmapped parts read as zero and forget writes; the driver's checks keep programs away
// from them. Threads: any; the caller orders two calls for the same addresses.
class Window {
 public:
  // `bytes` is a multiple of the page size; `alignment` is a power of two and at least the page
  // size. hint: the address that the program prefers; 0: any.
  Window(std::uint64_t bytes, std::uint64_t alignment, Address hint);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  // Returns false if the system refused; then no other function may be called.
  [[nodiscard]] bool ok() const { return shadow_ != nullptr; }
  [[nodiscard]] Address base() const { return base_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] bool contains(Address address) const { return address - base_ < bytes_; }
  [[nodiscard]] std::byte* bytes_at(Address address) const { return shadow_ + (address - base_); }

  // Arguments must be page aligned and inside the window.
  [[nodiscard]] bool map(Address at, std::uint64_t bytes, int file, std::uint64_t offset);
  void unmap(Address at, std::uint64_t bytes);
  // Gives the mapped pages back to the system, also in the file.
  void erase_bytes(Address at, std::uint64_t bytes);

 private:
  bool reserve_at(Address hint, std::uint64_t alignment);
  bool reserve_anywhere(std::uint64_t alignment);

  const std::uint64_t bytes_;
  void* reservation_ = nullptr;
  std::uint64_t reserved_ = 0;
  Address base_ = 0;
  std::byte* shadow_ = nullptr;
};

// All windows of the process, by address.
// Threads: any.
class Windows {
 public:
  void add(std::shared_ptr<Window> window);
  [[nodiscard]] std::shared_ptr<Window> find(Address inside) const;
  void remove(Address base);

 private:
  mutable std::mutex mutex_;  // guards windows_
  std::map<Address, std::shared_ptr<Window>> windows_;
};

Windows& windows();

}  // namespace vramscope::simulator
