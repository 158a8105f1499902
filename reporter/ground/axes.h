// Axis names that by which allocations are told apart besides their call stack and kind of memory;
// Origin is one value of each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ground/named_enum.h"
#include "allocator/ground/place.h"

namespace vramscope {

// Which call stacks are known, when not all of them are (reporter/record/sampling.h).
enum class Sampling : std::uint8_t {
  every,     // all calls get their stack
  taken,     // this one was chosen
  left_out,  // this one was not: its stack stays unknown, its owner does not
};

// Each has a table of values; a value is an index into it. What size_class counts is
// std::bit_width(bytes): class i holds requests of 2^(i-1) up to, but not including, 2^i bytes.
#define VRAMSCOPE_AXES(X) X(owner) X(thread) X(stream) X(range) X(function) X(size_class)
VRAMSCOPE_NAMED_ENUM(Axis, std::uint8_t, VRAMSCOPE_AXES);
inline constexpr std::size_t kAxes = kAxisNames.size();
static_assert(kAxes == kGroupsOfTag);
using AxisValues = std::array<std::uint32_t, kAxes>;

// The value of what a full table could not name.
inline constexpr std::uint32_t kOtherValue = 0xffffffffU;

[[nodiscard]] constexpr std::uint8_t size_class_of(std::uint64_t bytes) {
  return static_cast<std::uint8_t>(std::bit_width(bytes));
}

// Who asks, for what. `caller` is where the driver was called from: all that is known without
// stacks.
struct Origin {
  Place place;  // kind and device only
  std::uint16_t function = 0;
  std::uint8_t size_class = 0;
  std::uint32_t thread = 0;  // 0: nobody asked which
  std::uint32_t stream = 0;  // 0: the call takes none
  std::uint32_t range = 0;   // 0: outside every range
  std::uintptr_t caller = 0;
  Sampling sampling = Sampling::every;  // left_out: of the stack only the owner is kept

  // Nothing but a place is known.
  [[nodiscard]] bool is_plain() const {
    return (function | size_class | thread | stream | range) == 0 && caller == 0 &&
           sampling == Sampling::every;
  }
  [[nodiscard]] bool is_left_out() const { return sampling == Sampling::left_out; }
};

struct ThreadFact {
  std::int64_t id = 0;  // the system's, 0: unknown
  std::string name;
};

struct StreamFact {
  std::uint64_t handle = 0;  // as the program has it; two streams may have had the same in turn
  std::string name = {};     // that the program gave it by NVTX, "" none
};

struct RangeFact {
  std::uint32_t parent = 0;  // the range around it, 0: none
  std::string domain;        // "" is the default one
  std::string name;
  std::uint64_t entered = 0;  // times
};

// An instant that the program named.
struct MarkFact {
  std::uint64_t clock_ns = 0;  // as events have it
  std::string name;            // "domain:name", of the default domain "name"
};

// Parts of a run that repeat, as ranges and marks show them, come at least so often.
inline constexpr std::uint64_t kLeastPasses = 3;

// Marks of one name: each begins a pass of a part of the run that repeats.
struct RepeatedMark {
  std::string name;  // as of MarkFact
  std::uint64_t marks = 0;
  std::vector<std::uint64_t> clocks_ns;  // of some of them, evenly spread, from the first one on
};

}  // namespace vramscope
