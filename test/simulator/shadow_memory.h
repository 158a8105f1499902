// Device addresses that a host cannot touch, and the bytes behind them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/place.h"

namespace vramscope::simulator {

// One reservation without access, as long as the addresses of a device; the bytes live in an
// anonymous file that is mapped elsewhere. Sparse: only touched pages cost memory.
// Threads: any; two calls about the same addresses are the caller's to order.
class ShadowMemory {
 public:
  explicit ShadowMemory(std::uint64_t bytes);  // a multiple of 2 MiB
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;
  ~ShadowMemory();

  // False when the system refused the mappings; every other call is then forbidden.
  [[nodiscard]] bool ok() const { return shadow_ != nullptr; }
  [[nodiscard]] Address base() const { return base_; }  // on a 2 MiB boundary
  [[nodiscard]] bool contains(Address address) const { return address - base_ < bytes_; }
  // Where the byte at device address `address` really is.
  [[nodiscard]] std::byte* bytes_at(Address address) const { return shadow_ + (address - base_); }

  // Lets the host read and write the range at its device address. Page aligned.
  [[nodiscard]] bool open_to_host(Address start, std::uint64_t bytes);
  void close_to_host(Address start, std::uint64_t bytes);
  // Gives the whole pages inside the range back; they read as zero afterwards.
  void discard(Address start, std::uint64_t bytes);

 private:
  void* reservation_ = nullptr;
  std::uint64_t reserved_ = 0;
  std::uint64_t bytes_;
  Address base_ = 0;
  std::byte* shadow_ = nullptr;
  int file_ = -1;
};

}  // namespace vramscope::simulator
