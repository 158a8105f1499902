// leaks_of() says what a program never freed, apart by what that looks like: a leak that grows, or
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

#include "allocator/ground/named_enum.h"
#include "reporter/view/analysis/digest.h"
#include "reporter/view/analysis/leaks/suppressions.h"

namespace vramscope {

// What memory that was never freed looks like, by when it was allocated; the likeliest leak first.
// The run is counted in the program's allocations, so that its speed and its waits do not matter.
//   grows  several allocations of one place, with others between them that came and went or in a
//          named range that repeats or between marks of one name, in three tenths of the run or
//          more, to its end, and more at the report than before
//   left   anything else
//   late   all of it in the last tenth of the run: it may have been in use at its end
//   kept   in an initialiser that runs before main, or all that its place ever allocated, in the
//          first tenth of the run and not again: it may be kept on purpose
// Of a merged report tenths are of each process's own run; a place grows where a process holds as
// many, and may be kept where no process need have allocated there twice.
#define VRAMSCOPE_LEAK_CLASSES(X) X(grows) X(left) X(late) X(kept)
VRAMSCOPE_NAMED_ENUM(LeakClass, std::uint8_t, VRAMSCOPE_LEAK_CLASSES);
// "Perhaps kept on purpose: ...", a heading.
[[nodiscard]] std::string_view describe(LeakClass leak);

struct Leak {
  Share share;
  LeakClass looks = LeakClass::left;
  std::size_t tenths = 0;       // of the run, in which it was allocated; 0: unknown
  bool by_initialiser = false;  // that runs before main, or as a library is loaded
  // All in the first tenth of the run, in a merged report: of the place's other allocations it does
  // not tell whether the same process made them.
  bool may_be_repeated = false;
  bool is_in_one_go = false;  // several, between which nothing else came and went
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
  std::size_t row = 0;  // of the suppressions
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t sites = 0;
};

// What a framework's cache holds. It took that from CUDA to serve the program from it.
struct HeldByCache {
  std::size_t row = 0;  // of framework_caches()
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;  // allocations: of pieces that the cache cuts up, as a rule
  std::uint64_t sites = 0;
};

struct Leaks {
  std::vector<Leak> leaks;                  // by class, then the largest first
  std::vector<LeakedMemory> memory;         // of them, the largest first
  std::vector<UsedSuppression> suppressed;  // the largest first
  std::vector<HeldByCache> caches = {};     // likewise
  std::uint64_t without_site = 0;           // bytes whose call stack nobody knows
  // Of a merged report: bytes that each process left, but for what is suppressed or held by a
  // framework's cache, in the order of Report::processes. Empty: the report is of one process, or
  // does not tell.
  std::vector<std::uint64_t> left = {};
  // Of sites that held memory when it ran out the framework's cache that has it, a row of
  // framework_caches(): where leaks_for_oom() made this.
  std::map<std::size_t, std::size_t> cache_of_site = {};
};

// What blocks hold that wait for their free to complete is no leak. May throw bad_alloc.
[[nodiscard]] Leaks leaks_of(const Report& report, const Suppressions& suppressions,
                             const NameFrame& name);
// How fast what is not freed of a place that grows becomes more.
enum class GrowthUnit : std::uint8_t {
  call,  // of the place
  pass,  // of a named range
  mark,
};
struct GrowthRate {
  std::uint64_t bytes = 0;    // each time
  std::uint64_t periods = 1;  // of `unit`, between two times
  GrowthUnit unit = GrowthUnit::call;
  std::string name = {};         // of the range, or of the mark
  std::uint64_t full_in_ns = 0;  // until what is free on the device is gone, too; 0: not known
};
// Nothing where it does not grow, or the report does not tell how it came.
[[nodiscard]] std::optional<GrowthRate> growth_rate(const Report& report, const Leak& leak);

// Also of call stacks that nobody knows.
[[nodiscard]] std::uint64_t leaked_bytes(const Leaks& leaks);
// What suppressions leave out.
[[nodiscard]] std::uint64_t suppressed_bytes(const Leaks& leaks);
// What frameworks' caches hold.
[[nodiscard]] std::uint64_t cached_bytes(const Leaks& leaks);

// Whether these, which are the report's, tell more of it than its peak: places that grow, or were
// left amid the run, hold at least half as much as was held at the peaks.
[[nodiscard]] bool leaks_lead(const Report& report, const Leaks& leaks);

}  // namespace vramscope
