// The judge of segments that grow: what lies on pages and where, as naively as possible.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/base/backend.h"

namespace vramscope {

// One place under Limits::expandable_segments (PyTorch's rules) or Limits::growing_segments (ours),
// written from those rules only, sharing no code with the allocator: a list of pieces that is
// searched from its beginning each time. Memory never runs out. Threads: one.
class NaivePages {
 public:
  enum class Rules : std::uint8_t { pytorch, ours };
  NaivePages(Backend& backend, Rules rules) : backend_(backend), rules_(rules) {}

  Address allocate(std::uint64_t bytes);
  void free(Address address);
  void trim();

  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t idle() const;
  // Free pieces: sizes by address.
  [[nodiscard]] std::map<Address, std::uint64_t> free_pieces() const;

 private:
  enum class Is : std::uint8_t { live, free, nothing };
  struct Piece {
    Address address = 0;
    std::uint64_t size = 0;
    Is is = Is::nothing;
    bool is_small = false;
    std::size_t range = 0;  // which reservation
    std::uint64_t page = 0;
    Address base = 0;  // of the reservation
    bool is_held = false;
    [[nodiscard]] Address end() const { return address + size; }
    // Of the whole pages in it; the second is no greater than the first where there are none.
    [[nodiscard]] Address first_page() const {
      return base + (address - base + page - 1) / page * page;
    }
    [[nodiscard]] Address last_page() const { return base + (end() - base) / page * page; }
  };
  // Pieces from `first` on; `skipped` bytes of the first stay what they are.
  struct Room {
    std::size_t first = 0;
    std::uint64_t skipped = 0, mapped = 0;
    bool found = false;
  };

  [[nodiscard]] std::size_t best_fit(bool is_small, std::uint64_t size) const;
  [[nodiscard]] std::uint64_t possible_size(std::size_t piece) const;
  [[nodiscard]] Room room(bool is_small, std::uint64_t size) const;
  [[nodiscard]] Room room_from(std::size_t first, std::uint64_t size) const;
  [[nodiscard]] Room room_before(std::size_t nothing, std::uint64_t size) const;
  [[nodiscard]] bool are_neighbours(std::size_t lower, std::size_t upper) const;
  Room reserve(bool is_small, std::uint64_t size);
  std::size_t grow(bool is_small, std::uint64_t size);
  void take_idle(std::uint64_t bytes, bool is_small);
  void give_back(std::size_t piece, Address begin, Address end);
  void map(std::size_t piece, std::uint64_t bytes);
  void cut(std::size_t piece, std::uint64_t bytes);
  void merge();
  void drop_empty();
  void hand_out(std::size_t piece, std::uint64_t size);

  Backend& backend_;
  Rules rules_;
  std::vector<Piece> pieces_;  // by address
  std::size_t ranges_ = 0;
  std::uint64_t reserved_ = 0, live_ = 0, most_live_ = 0;
};

}  // namespace vramscope
