// The numbers that every room agrees on: addresses, tags, kinds of memory and places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

// A device or host address. Numbers only: nothing in Vramscope dereferences one.
using Address = std::uint64_t;

// The recorder's id of who asked: (site, place). 0 means unknown. Opaque to the allocator, which
// keeps one TagTotals per tag. A tag belongs to one (kind, device): never use it for two.
using Tag = std::uint32_t;

// Kinds of memory. `device` is what memory_stats counts; `pinned` and `registered` are what
// host_memory_stats counts; the others appear in the ledger only.
enum class Kind : std::uint8_t { device, pinned, registered, managed, stream_ordered };
inline constexpr std::size_t kKinds = 5;

inline constexpr std::size_t kMaxDevices = 64;  // more than any one machine carries today

// Where memory lives. Blocks are exchanged only inside one place; statistics are kept per
// (kind, device), or for the whole host for pinned and registered memory.
struct Place {
  Kind kind = Kind::device;
  std::uint16_t device = 0;   // device ordinal, below kMaxDevices; 0 for host kinds
  std::uint32_t context = 0;  // the backend's id of (context, epoch), with host flags when pinned
  friend bool operator==(const Place&, const Place&) = default;
};

}  // namespace vramscope
