// The numbers that every room agrees on: addresses, tags, kinds of memory and places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// A device or host address. Numbers only: nothing in Vramscope dereferences one.
using Address = std::uint64_t;

// The recorder's id of who asked: (site, place). 0 means unknown. Opaque to the allocator, which
// keeps one TagTotals per tag. A tag belongs to one (kind, device): never use it for two.
using Tag = std::uint32_t;

// What several tags count in together: the recorder's id of a thread, an owner, ... on one (kind,
// device). 0: nothing that anybody asks about.
using Group = std::uint32_t;
inline constexpr std::size_t kGroupsOfTag = 6;
using Groups = std::array<Group, kGroupsOfTag>;

// Kinds of memory. `device` is what memory_stats counts; `pinned` and `registered` are what
// host_memory_stats counts; the others appear in the ledger only.
enum class Kind : std::uint16_t {
  device,
  pinned,
  registered,
  managed,
  stream_ordered,
  array,     // arrays and mipmapped arrays: a layout of the driver's own, known by handle
  physical,  // memory of a device without an address: it is mapped, once or more
  host,      // the same on the host
  graph,     // what the allocation nodes of graphs ask for
  // No memory of their own: views of memory that is counted elsewhere, or not the process's.
  mapping,        // addresses at which physical memory is mapped
  address_range,  // addresses that are reserved, mapped or not
  imported,       // memory of another process or pool, by its address here
  external,       // memory of another interface, by handle
  multicast,      // objects through which memory of several devices is written at once
  graphics,       // resources of a graphics interface while they are mapped
};
inline constexpr std::size_t kKinds = 15;

// False for views and borrowed memory: their bytes are not part of what the process holds.
[[nodiscard]] constexpr bool holds_memory(Kind kind) { return kind < Kind::mapping; }

// False for kinds that belong to the process, or to the host: their places have device 0.
[[nodiscard]] constexpr bool has_device(Kind kind) {
  return kind != Kind::pinned && kind != Kind::registered && kind != Kind::host &&
         kind != Kind::address_range;
}

// What a device's memory is taken by, and its limit counts.
[[nodiscard]] constexpr bool takes_device_memory(Kind kind) {
  return holds_memory(kind) && has_device(kind);
}

// Whose numbers a kind's addresses are. Addresses of one space do not overlap while they live, but
// a mapping lies in a reserved range, and a handle has the value of nobody's address.
enum class Space : std::uint8_t { memory, mapping, range, array, handle, external, graphics };
inline constexpr std::size_t kSpaces = 7;

[[nodiscard]] constexpr Space space_of(Kind kind) {
  switch (kind) {
    case Kind::mapping:
      return Space::mapping;
    case Kind::address_range:
      return Space::range;
    case Kind::array:
      return Space::array;
    case Kind::physical:
    case Kind::host:
    case Kind::multicast:
      return Space::handle;
    case Kind::external:
      return Space::external;
    case Kind::graphics:
      return Space::graphics;
    default:
      return Space::memory;
  }
}

// Are its numbers addresses, of which two ranges can overlap? Else a handle stands for itself.
[[nodiscard]] constexpr bool has_ranges(Space space) { return space <= Space::range; }

inline constexpr std::size_t kMaxDevices = 64;  // more than any one machine carries today

// Where memory lives. Blocks are exchanged only inside one place; statistics are kept per
// (kind, device), or for the whole host for pinned and registered memory.
struct Place {
  Kind kind = Kind::device;
  std::uint16_t device = 0;   // device ordinal, below kMaxDevices; 0 unless has_device(kind)
  std::uint32_t context = 0;  // the backend's id of (context, epoch), with host flags when pinned

  // As one number, without gaps: to be compared and published at once.
  [[nodiscard]] constexpr std::uint64_t packed() const;
  [[nodiscard]] static constexpr Place unpack(std::uint64_t packed) {
    return std::bit_cast<Place>(packed);
  }
  friend constexpr bool operator==(const Place& a, const Place& b) {
    return a.packed() == b.packed();
  }
};
constexpr std::uint64_t Place::packed() const { return std::bit_cast<std::uint64_t>(*this); }

}  // namespace vramscope
