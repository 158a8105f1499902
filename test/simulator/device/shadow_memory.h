// ShadowMemory is device addresses that the host cannot access, and the bytes behind them.
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

#include "allocator/base/place.h"
#include "reporter/view/trial/granules.h"
#include "test/simulator/device/export_slot.h"

namespace vramscope::simulator {

// The position of bytes in a file that other processes of the user can open.
struct FilePlace {
  int file = -1;
  std::uint64_t inode = 0;
  std::uint64_t offset = 0;
};

// Returns the inode number of the file behind a descriptor; 0 if it is closed.
[[nodiscard]] std::uint64_t inode_of(int file);

// Reserves the addresses of a device without access. The bytes live in an anonymous file that is
// mapped elsewhere; only touched pages take memory. Threads: any; the caller orders two calls for
// the same addresses.
class ShadowMemory {
 public:
  explicit ShadowMemory(std::uint64_t bytes);  // a multiple of 2 MiB
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;
  ~ShadowMemory();

  // Returns false if the system refused the mappings; then no other function may be called.
  [[nodiscard]] bool ok() const { return shadow_ != nullptr; }
  [[nodiscard]] Address base() const { return base_; }  // on a 2 MiB boundary
  [[nodiscard]] bool contains(Address address) const { return address - base_ < bytes_; }
  // Returns where the bytes at device address `start` really are, for code that may write `bytes`
  // of them; bytes > 0.
  [[nodiscard]] std::byte* bytes_at(Address start, std::uint64_t bytes) {
    note_use(start, bytes);
    return shadow_ + (start - base_);
  }

  // Lets the host read and write the range at its device address. The range must be page aligned.
  [[nodiscard]] bool open_to_host(Address start, std::uint64_t bytes);
  void close_to_host(Address start, std::uint64_t bytes);
  // Ends an allocation: gives back the whole pages inside the range, which then read as zero,
  // unless nobody ever got their granules. If other processes have them open, they keep the bytes,
  // the address gets new ones, and the function returns true.
  bool discard(Address start, std::uint64_t bytes);
  // Returns whether other processes have the export `id` open.
  [[nodiscard]] bool is_open_elsewhere(std::uint64_t id) const;

  // Begins an allocation with granules of its own. Its bytes are contiguous in the file, even if
  // earlier bytes there were left to other processes.
  void settle(Address start, std::uint64_t bytes);
  // Returns the position of the byte at `start`. The bytes after it follow in the file up to the
  // end of its granule or allocation. Returns nothing if the program closed the file.
  [[nodiscard]] std::optional<FilePlace> place_of(Address start, std::uint64_t bytes);
  // Does the same, and lets other processes open the allocation that starts here.
  [[nodiscard]] std::optional<FilePlace> export_from(Address start, std::uint64_t bytes,
                                                     std::uint64_t id);

 private:
  void note_use(Address start, std::uint64_t bytes);
  // Returns whether any granule of the range was ever used. A graph may write to memory that was
  // given back.
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

  // For each granule from the first on, whether somebody may have written to it.
  std::vector<std::atomic<bool>> used_;

  mutable std::mutex mutex_;  // guards everything below
  std::map<Address, std::unique_ptr<ExportSlot>> exports_;
  std::map<Address, std::uint64_t> moved_;  // granules whose bytes are not at their original
                                            // position
  std::uint64_t next_new_page_ = 0;         // in the file
};

}  // namespace vramscope::simulator
