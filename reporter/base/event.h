// Event describes one intercepted call in plain numbers, for the recorder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/base/place.h"

namespace vramscope {

// What a driver function does to memory (a column of interpose/table/functions.def).
enum class Effect : std::uint8_t {
  none,      // start-up, lookup: nothing happens to memory
  allocate,  // memory appears at `address`
  release,   // memory at `address` is freed
  pin,       // host memory of the program becomes page-locked
  unpin,
  query,  // an answer about memory
  life,   // a context or capture begins or ends
};

[[nodiscard]] constexpr bool is_allocating(Effect effect) {
  return effect == Effect::allocate || effect == Effect::pin;
}
[[nodiscard]] constexpr bool is_freeing(Effect effect) {
  return effect == Effect::release || effect == Effect::unpin;
}

// How an allocation was served.
enum class Served : std::uint8_t {
  direct,  // by the driver, as without Vramscope
  hit,     // from a cached block: no driver call for the memory itself
  driver,  // by our allocator, with a driver call
};

// The effect of a call on recorded memory; a failed allocation has none.
enum class MemoryChange : std::uint8_t { none, came, went };

struct Event {
  std::uint16_t function = 0;  // row of interpose/table/functions.def
  Effect effect = Effect::none;
  Served served = Served::direct;
  bool failed = false;
  MemoryChange change = MemoryChange::none;
  Place place;                 // of the memory
  Tag tag = 0;                 // of the allocation, also in the event of its free; 0: unknown
  Address address = 0;         // 0: none
  std::uint64_t bytes = 0;     // requested bytes
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t total_ns = 0;  // until the driver's last answer; for calls that we serve: the whole
                               // call
  std::uint64_t driver_ns = 0;  // the part in the driver's functions for memory
  std::uint64_t sync_ns = 0;    // the part that waited for the device
  std::uint64_t serial = 0;     // number of the change among all: Outcome::serial
};

// An allocation that failed because memory ran out, before the program learns of it.
struct Refusal {
  Event event = {};
  std::uint64_t number = 0;         // 1: the process's first one
  bool by_limit = false;            // a limit of ours refused it, not the driver
  std::uint64_t counted_bytes = 0;  // what counted against that limit at that instant
  std::uint64_t total_bytes = 0;    // according to the driver, after the refusal; 0: unknown
  std::uint64_t free_bytes = 0;
};

}  // namespace vramscope
