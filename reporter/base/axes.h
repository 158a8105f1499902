// Axis names the properties that distinguish allocations, in addition to their call stack and kind
// of memory. Origin has one value of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/base/named_enum.h"
#include "allocator/base/place.h"

namespace vramscope {

// Which call stacks are known, if not all are (reporter/record/sampling.h).
enum class Sampling : std::uint8_t {
  every,     // all calls get their stack
  taken,     // this call was chosen
  left_out,  // this call was not chosen: its stack is unknown, its owner is known
};

// Each axis has a table of values; a value is an index into it. size_class is
// std::bit_width(bytes): class i holds requests of 2^(i-1) up to, but not including, 2^i bytes.
#define VRAMSCOPE_AXES(X) X(owner) X(thread) X(stream) X(range) X(function) X(size_class)
VRAMSCOPE_NAMED_ENUM(Axis, std::uint8_t, VRAMSCOPE_AXES);
inline constexpr std::size_t kAxes = kAxisNames.size();
static_assert(kAxes == kGroupsOfTag);
using AxisValues = std::array<std::uint32_t, kAxes>;

// The value for everything that a full table could not name.
inline constexpr std::uint32_t kOtherValue = 0xffffffffU;

[[nodiscard]] constexpr std::uint8_t size_class_of(std::uint64_t bytes) {
  return static_cast<std::uint8_t>(std::bit_width(bytes));
}

// What asks for memory, and for which purpose. `caller`: the address from which the driver was
// called, which is all that is known without stacks.
struct Origin {
  Place place;  // only kind and device
  std::uint16_t function = 0;
  std::uint8_t size_class = 0;
  std::uint32_t thread = 0;  // 0: not looked up
  std::uint32_t stream = 0;  // 0: the call has no stream
  std::uint32_t range = 0;   // 0: outside every range
  std::uintptr_t caller = 0;
  Sampling sampling = Sampling::every;  // left_out: only the owner of the stack is kept

  // Returns whether nothing except a place is known.
  [[nodiscard]] bool is_plain() const {
    return (function | size_class | thread | stream | range) == 0 && caller == 0 &&
           sampling == Sampling::every;
  }
  [[nodiscard]] bool is_left_out() const { return sampling == Sampling::left_out; }
};

struct ThreadFact {
  std::int64_t id = 0;  // the system's thread id; 0: unknown
  std::string name;
};

struct StreamFact {
  std::uint64_t handle = 0;  // the program's handle; ended streams may have had the same one
  std::string name = {};     // the name that the program gave it by NVTX; "": none
};

struct RangeFact {
  std::uint32_t parent = 0;  // the enclosing range; 0: none
  std::string domain;        // "": the default domain
  std::string name;
  std::uint64_t entered = 0;  // how often the program entered it
};

// An instant that the program named.
struct MarkFact {
  std::uint64_t clock_ns = 0;  // by the clock of the events
  std::string name;            // "domain:name"; in the default domain "name"
};

// The least number of passes after which ranges and marks count as repeated.
inline constexpr std::uint64_t kLeastPasses = 3;

// Marks of one name. Each begins a pass of a part of the run that repeats.
struct RepeatedMark {
  std::string name;  // as in MarkFact
  std::uint64_t marks = 0;
  std::vector<std::uint64_t> clocks_ns;  // of some of them, evenly spread, from the first one on
};

}  // namespace vramscope
