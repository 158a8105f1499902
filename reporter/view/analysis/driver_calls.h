// driver_calls() counts the program's calls of the driver's functions and their times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/base/facts.h"

namespace vramscope {

struct Report;

// The calls of one function or thread. Times are those of whole calls, including waits and our own
// work; nothing: not recorded.
struct DriverCall {
  std::string name;
  std::uint64_t calls = 0;
  std::optional<std::uint64_t> failures = {};
  std::uint64_t total_ns = 0;
  std::optional<std::uint64_t> median_ns = {};  // half of the calls took at most this long
  std::optional<std::uint64_t> most_ns = {};    // 99 of 100 calls took at most this long
  std::optional<std::uint64_t> max_ns = {};
  std::optional<std::uint64_t> waited_ns = {};  // the part of total_ns in which the library waited
                                                // for the device
};

// Returns what is known of all calls of a function or thread.
[[nodiscard]] DriverCall driver_call(std::string name, const FunctionTotals& totals);

struct DriverCalls {
  std::vector<DriverCall> rows;  // the longest time first
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t total_ns = 0;
  std::optional<std::uint64_t> waited_ns = {};  // in all calls, for any device
  std::uint64_t run_ns = 0;      // 0: not known, or the report is of several processes
  std::size_t threads = 0;       // threads that allocated; 0: not known
  bool are_all_threads = false;  // no other thread made these calls
};

// Returns the calls by function. May throw bad_alloc.
[[nodiscard]] DriverCalls driver_calls(const Report& report);
// Returns the allocating calls by thread; reports have no other calls by thread. May throw
// bad_alloc.
[[nodiscard]] DriverCalls allocating_calls(const Report& report);
// Sorts the rows, the longest time first, and sums up what is known of all.
void settle(DriverCalls& calls);

// Returns whether all threads together spent so much time in calls about memory that the user
// should look at it. Calls that make a context or load code do not count, since every program makes
// them.
[[nodiscard]] bool took_much(const Report& report);

// The calls of one function in two reports.
struct CallChange {
  std::string name;
  DriverCall before;
  DriverCall after;

  [[nodiscard]] std::int64_t change_ns() const {
    return static_cast<std::int64_t>(after.total_ns) - static_cast<std::int64_t>(before.total_ns);
  }
};
// Returns the changes, the largest first. May throw bad_alloc.
[[nodiscard]] std::vector<CallChange> call_changes(const DriverCalls& before,
                                                   const DriverCalls& after);

}  // namespace vramscope
