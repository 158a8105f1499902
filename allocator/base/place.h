// Every room agrees on these numbers: addresses, tags, kinds of memory and places.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

enum class Kind : std::uint16_t {
#define KIND(name, own, device, space) name,
#include "allocator/base/kinds.def"
};
inline constexpr auto kKindNames = std::to_array<std::string_view>({
#define KIND(name, own, device, space) #name,
#include "allocator/base/kinds.def"
});
inline constexpr std::size_t kKinds = kKindNames.size();

// Sets of kinds, a bit each.
inline constexpr std::uint32_t kOwnKinds = 0U
#define KIND(name, own, device, space) | own##U << static_cast<unsigned>(Kind::name)
#include "allocator/base/kinds.def"
    ;
inline constexpr std::uint32_t kDeviceKinds = 0U
#define KIND(name, own, device, space) | device##U << static_cast<unsigned>(Kind::name)
#include "allocator/base/kinds.def"
    ;

// False for views and borrowed memory: their bytes are not part of what the process holds.
[[nodiscard]] constexpr bool holds_memory(Kind kind) {
  return (kOwnKinds >> static_cast<unsigned>(kind) & 1U) != 0;
}

// False for kinds that belong to the process, or to the host: their places have device 0.
[[nodiscard]] constexpr bool has_device(Kind kind) {
  return (kDeviceKinds >> static_cast<unsigned>(kind) & 1U) != 0;
}

// What host_memory_stats counts.
[[nodiscard]] constexpr bool is_host(Kind kind) {
  return kind == Kind::pinned || kind == Kind::registered;
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
#define KIND(name, own, device, space) \
  case Kind::name:                     \
    return Space::space;
#include "allocator/base/kinds.def"
  }
  return Space::memory;
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
