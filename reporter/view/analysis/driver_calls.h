// driver_calls() tells how often the program called the driver's functions, and how long that took.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reporter/ground/facts.h"

namespace vramscope {

struct Report;

// The calls of one function, or of one thread. Times are of whole calls, waits and our own work
// included; nothing: not recorded.
struct DriverCall {
  std::string name;
  std::uint64_t calls = 0;
  std::optional<std::uint64_t> failures = {};
  std::uint64_t total_ns = 0;
  std::optional<std::uint64_t> median_ns = {};  // half of the calls took at most that
  std::optional<std::uint64_t> most_ns = {};    // 99 in 100 took at most that
  std::optional<std::uint64_t> max_ns = {};
  std::optional<std::uint64_t> waited_ns = {};  // of total_ns: the library waited for the device
};

// What is known of all calls of a function or thread.
[[nodiscard]] DriverCall driver_call(std::string name, const FunctionTotals& totals);

struct DriverCalls {
  std::vector<DriverCall> rows;  // the longest time first
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  std::uint64_t total_ns = 0;
  std::optional<std::uint64_t> waited_ns = {};  // in all of them, for any device
  std::uint64_t run_ns = 0;                     // 0: not known, or of several processes
  std::size_t threads = 0;                      // that allocated; 0: not known
};

// By function. May throw bad_alloc.
[[nodiscard]] DriverCalls driver_calls(const Report& report);
// By thread, of the calls that allocated: reports have no others by thread. May throw bad_alloc.
[[nodiscard]] DriverCalls allocating_calls(const Report& report);
// The longest time first; adds up what is known of all.
void settle(DriverCalls& calls);

// Whether all threads together spent so much in calls about memory that a person should look at it.
// Calls that make a context or load code do not count: every program makes them.
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
// The largest change first. May throw bad_alloc.
[[nodiscard]] std::vector<CallChange> call_changes(const DriverCalls& before,
                                                   const DriverCalls& after);

}  // namespace vramscope
