// Event is what happened in one intercepted call: plain numbers handed to the recorder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "allocator/ground/place.h"

namespace vramscope {

// What a driver function does to memory (a column of interpose/table/functions.def).
enum class Effect : std::uint8_t {
  none,      // start-up, lookup: nothing happens to memory
  allocate,  // memory appears at `address`
  release,   // memory at `address` goes
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
  direct,  // by the driver, as without us
  hit,     // from a cached block: no driver call for the memory itself
  driver,  // by ours, with a driver call
};

// What a call did to recorded memory: an allocation that failed did nothing.
enum class MemoryChange : std::uint8_t { none, came, went };

struct Event {
  std::uint16_t function = 0;  // row of interpose/table/functions.def
  Effect effect = Effect::none;
  Served served = Served::direct;
  bool failed = false;
  MemoryChange change = MemoryChange::none;
  Place place;                  // of the memory
  Tag tag = 0;                  // who allocated it (also for a release); 0: unknown
  Address address = 0;          // 0 when none
  std::uint64_t bytes = 0;      // requested bytes
  std::uint64_t start_ns = 0;   // CLOCK_MONOTONIC
  std::uint64_t total_ns = 0;   // to the driver's last answer; served by us: the whole call
  std::uint64_t driver_ns = 0;  // share of it in the driver for memory
  std::uint64_t sync_ns = 0;    // share of it waiting for the device
  std::uint64_t serial = 0;     // place of the change among all: Outcome::serial
};

// An allocation that failed because memory ran out, as the program is about to be told.
struct Refusal {
  Event event = {};
  std::uint64_t number = 0;         // 1: the first of the process
  bool by_limit = false;            // a limit of ours refused, not the driver
  std::uint64_t counted_bytes = 0;  // what counted against it at that instant
  std::uint64_t total_bytes = 0;    // what the driver said of the device after it; 0: nothing
  std::uint64_t free_bytes = 0;
};

}  // namespace vramscope
