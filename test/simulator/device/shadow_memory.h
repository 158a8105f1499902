// Device addresses that a host cannot touch, and the bytes behind them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "allocator/ground/place.h"
#include "test/simulator/device/export_slot.h"
#include "test/simulator/device/granules.h"

namespace vramscope::simulator {

// Where bytes are in a file that other processes of the user can open.
struct FilePlace {
  int file = -1;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
};

// The number of the file behind a descriptor; 0 when it is closed.
[[nodiscard]] std::uint64_t inode_of(int file);

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
  // Where the bytes at device address `start` really are, for somebody who may write `bytes` of
  // them; bytes > 0.
  [[nodiscard]] std::byte* bytes_at(Address start, std::uint64_t bytes) {
    note_use(start, bytes);
    return shadow_ + (start - base_);
  }

  // Lets the host read and write the range at its device address. Page aligned.
  [[nodiscard]] bool open_to_host(Address start, std::uint64_t bytes);
  void close_to_host(Address start, std::uint64_t bytes);
  // The end of an allocation: gives the whole pages inside the range back, unless nobody was ever
  // given their granules; they read as zero afterwards. What other processes have open keeps its
  // bytes, and the address gets new ones: true.
  bool discard(Address start, std::uint64_t bytes);
  // Other processes have what was exported as `id` open.
  [[nodiscard]] bool is_open_elsewhere(std::uint64_t id) const;

  // The start of an allocation with granules of its own: its bytes follow each other in the file
  // even where earlier ones were left to others.
  void settle(Address start, std::uint64_t bytes);
  // The place of the byte at `start`; the bytes after it follow it up to the end of its granule,
  // or of its allocation. Nothing when the program closed the file.
  [[nodiscard]] std::optional<FilePlace> place_of(Address start, std::uint64_t bytes);
  // The same, and from now on the allocation that starts here can be opened by others.
  [[nodiscard]] std::optional<FilePlace> export_from(Address start, std::uint64_t bytes,
                                                     std::uint64_t id);

 private:
  void note_use(Address start, std::uint64_t bytes);
  // Was there ever use of a granule of the range? A graph may write again what was given back.
  [[nodiscard]] bool was_used(Address start, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t granule_of(Address address) const {
    return (address - base_) / kGranule;
  }
  [[nodiscard]] bool file_is_open() const;
  [[nodiscard]] std::uint64_t offset_of(Address address) const;
  [[nodiscard]] bool is_left_to_importers(Address start, std::uint64_t bytes);
  void move_to_new_pages(Address start, std::uint64_t bytes);
  template <class Piece>
  void each_piece(Address start, Address end, Piece piece) const;

  void* reservation_ = nullptr;
  std::uint64_t reserved_ = 0;
  std::uint64_t bytes_;
  Address base_ = 0;
  std::byte* shadow_ = nullptr;
  int file_ = -1;
  std::uint64_t inode_ = 0;

  // Granules with bytes that somebody may have written, from the first one on.
  std::vector<std::atomic<bool>> used_;

  mutable std::mutex mutex_;  // guards everything below
  std::map<Address, std::unique_ptr<ExportSlot>> exports_;
  std::map<Address, std::uint64_t> moved_;  // granules whose bytes are not at their first place
  std::uint64_t next_new_page_ = 0;         // in the file
};

}  // namespace vramscope::simulator
