// OomEvent is one allocation that failed because memory ran out: what was requested and by whom,
// what was live, and what prevented the allocation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocator/base/place.h"

namespace vramscope {

// What a call stack held. tag: the recorder's tag, in the process. site: index into Report::sites.
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

// Segments that could not go back to the driver because blocks lived in them. They are grouped by
// the call site of their largest live block.
struct OomPin {
  Tag tag = 0;  // of those largest blocks; `site` is theirs, too
  std::int64_t site = -1;
  std::uint64_t segments = 0;
  std::uint64_t total_size = 0;  // of these segments
  std::uint64_t free_bytes = 0;  // in these segments
  std::uint64_t largest_free_bytes = 0;
  std::uint64_t live_bytes = 0;  // with rounding
  std::uint64_t live_count = 0;
};

// All bytes are those of the device. If the kind is one of the host, those of the device are 0.
struct OomEvent {
  std::uint64_t number = 0;   // 1: the process's first one
  std::uint64_t time_ns = 0;  // since the timeline's start
  std::string function = {};
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;  // requested; 0: not known
  Tag tag = 0;
  std::int64_t site = -1;
  std::string thread = {};
  std::string range = {};  // "": none
  bool by_limit = false;   // the limit refused (option device_memory_limit), not the driver
  std::uint64_t counted_bytes = 0;  // what counted against the limit at that instant; 0: not known
  bool is_watched = false;  // served_ns and served_tag were looked for, which is not done in all of
                            // a storm
  std::int64_t served_ns = -1;  // start of a later call that got as much of this memory; -1: none
  Tag served_tag = 0;           // of that call
  std::int64_t served_site = -1;
  bool has_details = false;  // the following was looked at, which is not done in all of a storm
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;          // according to the driver, after the refusal
  std::uint64_t reserved_bytes = 0;      // in our segments
  std::uint64_t allocated_bytes = 0;     // of these, in blocks that the program held
  std::uint64_t requested_bytes = 0;     // of these, what the program had requested
  std::uint64_t allocation_count = 0;    // number of those blocks
  std::uint64_t pending_bytes = 0;       // freed, but possibly still in use
  std::uint64_t idle_bytes = 0;          // in our segments without a block in use
  std::uint64_t split_free_bytes = 0;    // free in segments with a block in use
  std::uint64_t largest_free_bytes = 0;  // the largest piece of split_free_bytes
  std::uint64_t direct_bytes = 0;        // allocated by the driver itself for the program
  std::uint64_t rounding_bytes = 0;      // taken by the driver beyond that, for whole pages
  std::uint64_t outside_bytes = 0;       // used by nothing that is recorded
  std::uint64_t context_bytes = 0;       // of these, for this process's contexts
  std::uint64_t module_bytes = 0;        // of these, for its code
  std::uint64_t pool_bytes = 0;  // of these, kept by the driver's pools after the process freed it
  std::uint64_t pool_pending_bytes = 0;  // of these, kept until the process's streams reach the
                                         // free
  // Of outside_bytes, what an attached process had before; see DeviceFacts.
  std::optional<std::uint64_t> before_bytes = {};
  // An estimate of the free memory if the driver itself had served each block.
  std::uint64_t native_free_bytes = 0;
  std::vector<OomShare> shares = {};  // the largest first, at most 10, of every kind
  std::vector<OomOwner> owners = {};  // the largest first, at most 10
  std::vector<OomPin> pins = {};      // the most free bytes first, at most 10
};

// Returns what is known to be this process's part of outside_bytes: its contexts and its code. They
// were measured at other times, so their sum may exceed outside_bytes.
[[nodiscard]] inline std::uint64_t own_outside(const OomEvent& event) {
  return std::min(event.outside_bytes, event.context_bytes + event.module_bytes);
}
// Returns what the driver's pools kept of memory that this process had freed.
[[nodiscard]] inline std::uint64_t pools_then(const OomEvent& event) {
  return std::min(event.pool_bytes, event.outside_bytes - own_outside(event));
}
// Returns what an attached process still had of what it held before.
[[nodiscard]] inline std::uint64_t before_then(const OomEvent& event) {
  return std::min(event.before_bytes.value_or(0),
                  event.outside_bytes - own_outside(event) - pools_then(event));
}
// Returns what of outside_bytes is not known to be this process's.
[[nodiscard]] inline std::uint64_t others_then(const OomEvent& event) {
  return event.outside_bytes - own_outside(event) - pools_then(event) - before_then(event);
}

struct OomReport {
  std::uint64_t count = 0;            // of all events
  std::vector<OomEvent> events = {};  // the first 16 and the last
};

}  // namespace vramscope
