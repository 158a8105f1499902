// OomEvent is one allocation that failed because memory ran out: what was asked for and by whom,
// what was live then, and what stood in the way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "allocator/ground/place.h"

namespace vramscope {

// What a call stack held. tag: the recorder's, in the process; site: index into Report::sites.
struct OomShare {
  Tag tag = 0;
  std::int64_t site = -1;
  Kind kind = Kind::device;
  std::uint64_t live_bytes = 0;  // requested bytes
  std::uint64_t live_count = 0;
};

// What the code of one object held.
struct OomOwner {
  std::string owner;
  Kind kind = Kind::device;
  std::uint64_t live_bytes = 0;  // requested bytes
};

// Segments that could not go back to the driver, because blocks live in them: those of which the
// largest live block is of one call stack.
struct OomPin {
  Tag tag = 0;  // of those blocks, and their site
  std::int64_t site = -1;
  std::uint64_t segments = 0;
  std::uint64_t total_size = 0;  // of these segments
  std::uint64_t free_bytes = 0;  // in them
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t live_bytes = 0;  // with rounding
  std::uint64_t live_count = 0;
};

// All bytes are of the device, unless the kind is one of the host: then those of the device are 0.
struct OomEvent {
  std::uint64_t number = 0;   // 1: the first of the process
  std::uint64_t time_ns = 0;  // since the timeline's start
  std::string function = {};
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;  // asked for; 0: not known
  Tag tag = 0;
  std::int64_t site = -1;
  std::string thread = {};
  std::string range = {};           // "": none
  bool by_limit = false;            // the option device_memory_limit refused, not the driver
  std::uint64_t counted_bytes = 0;  // what counted against it at that instant; 0: not known
  bool is_watched = false;          // the next two were looked out for: not for all of a storm
  std::int64_t served_ns = -1;  // when a call began that was given as much of this memory; -1: none
  Tag served_tag = 0;           // who made that call
  std::int64_t served_site = -1;
  bool has_details = false;  // what follows was looked at: not in all of a storm
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;          // by the driver's own word, after the refusal
  std::uint64_t reserved_bytes = 0;      // segments of ours
  std::uint64_t allocated_bytes = 0;     // of these, blocks that the program held
  std::uint64_t requested_bytes = 0;     // of these, what it had asked for
  std::uint64_t allocation_count = 0;    // of these
  std::uint64_t pending_bytes = 0;       // freed, but perhaps in use yet
  std::uint64_t idle_bytes = 0;          // segments of ours without a block in use
  std::uint64_t split_free_bytes = 0;    // free in segments with a block in use
  std::uint64_t largest_free_bytes = 0;  // the largest piece of these
  std::uint64_t direct_bytes = 0;        // what the program had from the driver itself
  std::uint64_t rounding_bytes = 0;      // that the driver took beyond those, for whole pages
  std::uint64_t outside_bytes = 0;       // used, and by nothing that is recorded
  std::uint64_t context_bytes = 0;       // of these, for this process's contexts
  std::uint64_t module_bytes = 0;        // and for its code
  std::uint64_t pool_bytes = 0;          // and what the driver's pools kept of what it freed
  std::uint64_t pool_pending_bytes = 0;  // in part until its streams had come there
  // An estimate: what would be free if each block had come from the driver by itself.
  std::uint64_t native_free_bytes = 0;
  std::vector<OomShare> shares = {};  // the largest first, at most 10, of every kind
  std::vector<OomOwner> owners = {};  // likewise
  std::vector<OomPin> pins = {};      // the most free bytes first, at most 10
};

// Of outside_bytes, what is known to be this process's: its contexts and its code. They were
// measured at other times, and may come to more.
[[nodiscard]] inline std::uint64_t own_outside(const OomEvent& event) {
  return std::min(event.outside_bytes, event.context_bytes + event.module_bytes);
}
// And what the driver's pools kept of what this process had freed.
[[nodiscard]] inline std::uint64_t pools_then(const OomEvent& event) {
  return std::min(event.pool_bytes, event.outside_bytes - own_outside(event));
}

struct OomReport {
  std::uint64_t count = 0;            // of all
  std::vector<OomEvent> events = {};  // the first 16 and the last
};

}  // namespace vramscope
