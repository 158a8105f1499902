// leaks_of() finds the memory that a program never freed, and classifies it: a leak that grows, or
// memory that may be kept on purpose.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/base/named_enum.h"
#include "reporter/view/analysis/leaks/left_memory.h"
#include "reporter/view/analysis/leaks/suppressions.h"
#include "reporter/view/analysis/report_figures.h"

namespace vramscope {

// Classes of memory that was never freed, by when it was allocated; the likeliest leak comes first.
// The run is counted in the program's allocations, so that its speed and its waits do not matter.
//   grows  several allocations of one place, in three tenths of the run or more, to its end, and
//          more at the report than before; between them others were allocated and freed, or they
//          are in a named range that repeats or between marks of one name
//   left   anything else
//   late   all of it in the last tenth of the run: it may have been in use at the end
//   kept   in an initialiser that runs before main, or everything that its place ever allocated, in
//          the first tenth of the run and not again: it may be kept on purpose
// In a merged report tenths are those of each process's own run. A place grows if one process holds
// as many, and may be kept if possibly no process allocated there twice.
#define VRAMSCOPE_LEAK_CLASSES(X) X(grows) X(left) X(late) X(kept)
VRAMSCOPE_NAMED_ENUM(LeakClass, std::uint8_t, VRAMSCOPE_LEAK_CLASSES);

struct Leak {
  Share share;
  LeakClass looks = LeakClass::left;
  // Of the run, in which it was allocated; of several processes, of that with most. 0: unknown.
  std::size_t tenths = 0;
  bool by_initialiser = false;  // one that runs before main, or when a library is loaded
  // All of it is from the first tenth of the run, but the merged report does not say whether the
  // same process made the place's other allocations.
  bool may_be_repeated = false;
  bool is_in_one_go = false;  // several, between which nothing else was allocated or freed
};

// Never freed memory of one kind on one device.
struct LeakedMemory {
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t sites = 0;
};

struct UsedSuppression {
  std::size_t row = 0;  // index into the suppressions
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t sites = 0;
};

// What a framework's cache holds: memory from CUDA from which it serves the program.
struct HeldByCache {
  std::size_t row = 0;  // index into framework_caches()
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // allocations, usually of pieces that the cache divides
  std::uint64_t sites = 0;
};

struct Leaks {
  std::vector<Leak> leaks;                  // by class, then the largest first
  std::vector<LeakedMemory> memory;         // the sums of the leaks, the largest first
  std::vector<UsedSuppression> suppressed;  // the largest first
  std::vector<HeldByCache> caches = {};     // the largest first
  std::uint64_t without_site = 0;           // bytes without a known call site
  // In a merged report: what each process left, in the order of Report::processes, without what is
  // suppressed or held by a framework's cache. Empty: the report is of one process, or lacks the
  // data.
  std::vector<LeftBytes> left = {};
  LeftShares left_shares = {};  // of its known places
  // For sites that held memory when memory ran out: the framework's cache that has it, as an index
  // into framework_caches(). Only set by leaks_for_oom().
  std::map<std::size_t, std::size_t> cache_of_site = {};
};

// Blocks whose free is pending are not leaks. May throw bad_alloc.
[[nodiscard]] Leaks leaks_of(const Report& report, const Suppressions& suppressions,
                             const NameFrame& name);
// The unit of time in which a growing place grows.
enum class GrowthUnit : std::uint8_t {
  call,  // a call of the place
  pass,  // an entry of a named range
  mark,
};
struct GrowthRate {
  std::uint64_t bytes = 0;    // for each growth
  std::uint64_t periods = 1;  // of `unit`, between two growths
  GrowthUnit unit = GrowthUnit::call;
  std::string name = {};         // of the range or mark
  std::uint64_t full_in_ns = 0;  // time until the free memory of the device is also used up; 0: not
                                 // known
};
// Returns nothing if the place does not grow, or the report lacks the data.
[[nodiscard]] std::optional<GrowthRate> growth_rate(const Report& report, const Leak& leak);

// Returns the leaked bytes, including those without a known call site.
[[nodiscard]] std::uint64_t leaked_bytes(const Leaks& leaks);
// Returns the bytes that suppressions leave out.
[[nodiscard]] std::uint64_t suppressed_bytes(const Leaks& leaks);
// Returns the bytes that frameworks' caches hold.
[[nodiscard]] std::uint64_t cached_bytes(const Leaks& leaks);

// Returns whether the report's leaks say more than its peak: places that grow, or were left in the
// middle of the run, hold at least half as much as was held at the peaks.
[[nodiscard]] bool leaks_lead(const Report& report, const Leaks& leaks);

}  // namespace vramscope
