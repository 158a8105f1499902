// held_between() compares two instants of a trace: what was live at the first and is still held at
// the second, and what was allocated between them and is held at the second.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/view/analysis/replay/asked_instant.h"
#include "reporter/view/analysis/replay/trace_follower.h"

namespace vramscope {

// Requested bytes, and the number of allocations that make them up.
struct HeldSum {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;

  void add(std::uint64_t its_bytes, std::uint64_t its_count = 1) {
    bytes += its_bytes;
    count += its_count;
  }
};

// Of one call site with one kind of memory of one device, or of one owner with all of its memory.
struct HeldRow {
  std::int64_t site = -1;  // index into the report's; -1: of an owner
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::string owner;
  HeldSum held;   // live at both instants
  HeldSum added;  // allocated between them, and live at the second
};

struct HeldBetween {
  AskedInstant from;
  AskedInstant to;
  Report report;                     // has the trace's sites
  HeldSum live;                      // at the first instant
  HeldSum held;                      // of these at the second one
  HeldSum allocated;                 // between them
  HeldSum added;                     // of these at the second one
  std::vector<HeldRow> sites = {};   // that hold something at the second one, the largest first
  std::vector<HeldRow> owners = {};  // the same
};

// Which frames are kept, and so which sites are one row.
struct StackChoice;

// An allocation counts from the beginning of its call, as does a free. trace: follows what is to be
// judged until the second instant. Views of other memory are left out. Nothing on failure:
// missing() or problem() of the trace then says why. May throw bad_alloc.
[[nodiscard]] std::optional<HeldBetween> held_between(TraceFollower& trace, AskedInstant from,
                                                      AskedInstant to, const StackChoice& stacks);

}  // namespace vramscope
