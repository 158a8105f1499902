// RecorderFacts is what the recorder knows, copied for a report: times, functions, stacks, modules,
// tags. These are plain values that every folder of the reporter may use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "allocator/base/place.h"
#include "allocator/base/rows.h"
#include "reporter/base/axes.h"

namespace vramscope {

// Programs repeatedly ask for up to 2^64 - 1 bytes, so sums of refused bytes saturate.
[[nodiscard]] constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, ~std::uint64_t{0} - a);
}

// A histogram in powers of two: bucket i counts durations in [2^i, 2^(i+1)) ns. Bucket 0 also holds
// 0 ns, the last bucket everything longer (2^39 ns = 9 minutes).
inline constexpr std::size_t kHistogramBuckets = 40;
using Histogram = std::array<std::uint64_t, kHistogramBuckets>;

[[nodiscard]] constexpr std::size_t histogram_bucket(std::uint64_t ns) {
  const std::size_t bucket = ns == 0 ? 0 : std::bit_width(ns) - 1U;
  return std::min(bucket, kHistogramBuckets - 1);
}

struct Duration {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  Histogram histogram{};

  void add(std::uint64_t ns) {
    min_ns = count == 0 ? ns : std::min(min_ns, ns);
    max_ns = std::max(max_ns, ns);
    total_ns += ns;
    ++count;
    ++histogram[histogram_bucket(ns)];
  }
};

// The times of mapping and unmapping the pages of segments that grow, for each page. Access is
// given to all pages of a mapping together.
struct PageTimes {
  Duration map, access, unmap;
};

struct FunctionTotals {
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  Duration time;
};

// The timing of one device (or of the host): allocations and frees, separately for those served
// from the cache and those that went to the driver; and waits.
struct Timing {
  Duration alloc_hit, alloc_driver, free_hit, free_driver, sync;

  template <class Self, class F>
  static constexpr void visit(Self& self, F&& f) {
    f("alloc_hit", self.alloc_hit);
    f("alloc_driver", self.alloc_driver);
    f("free_hit", self.free_hit);
    f("free_driver", self.free_driver);
    f("sync", self.sync);
  }
};

// The most bytes of a path or name to which many frames refer; a reader refuses longer ones. Paths
// have up to 4096 bytes, Python's names 4096 characters; a build id of SHA-1 has 40 digits.
inline constexpr std::size_t kLongestText = std::size_t{32} << 10;
inline constexpr std::size_t kMostBuildIdDigits = 128;

struct ModuleFact {  // a mapped object
  std::string path;
  std::string build_id;  // hexadecimal; "": none
  std::uint64_t base = 0;
};

// A file of Python code, with its properties when first seen.
struct SourceFact {
  std::string path;               // absolute if the file exists, else as Python names it
  std::uint64_t bytes = 0;        // 0: there was no file
  std::uint64_t modified_ns = 0;  // since the epoch
};

// The source lines that a view may show. Not in files.
struct ShownSources {
  bool is_own = false;                    // the report or trace belongs to the user who reads it
  std::vector<std::string> folders = {};  // files below these folders are shown, whoever owns them
};

struct CodeFact {  // a Python function, class body or module
  std::string name;
  std::uint32_t source = 0;      // index
  std::uint32_t first_line = 0;  // of its definition, including decorators
};

inline constexpr std::uint32_t kNoModule = 0xffffffffU;
inline constexpr std::uint32_t kNoCode = 0xffffffffU;

struct FrameFact {
  std::uint32_t module = 0;  // index; kNoModule: the address belongs to no module
  std::uint64_t offset = 0;  // of the return address from the module's base (load bias)
  // Only for a Python frame. module and offset are then those of the evaluation loop, for the
  // innermost frame that a loop runs, else kNoModule and 0.
  std::uint32_t code = kNoCode;  // index
  std::uint32_t line = 0;        // 0: the instruction has no line
};

struct SiteFact {
  std::vector<std::uint32_t> frames;  // indices, innermost first
};
// Sites that stand for many stacks: those of the unknown tag and stacks that could not be walked;
// and calls that were not chosen as samples.
inline constexpr std::uint32_t kUnknownSite = 0;
inline constexpr std::uint32_t kLeftOutSite = 1;

struct TagFact {
  std::uint32_t site = 0;       // index into sites
  Place place;                  // kind and device only
  AxisValues values{};          // by Axis
  Groups groups{};              // by Axis: the group of that value, kind and device
  std::uint64_t total_ns = 0;   // time in the allocating calls
  std::uint64_t temporary = 0;  // freed before the thread's next allocation
  Sampling sampling = Sampling::every;
  std::uint64_t refused_count = 0;  // allocations that failed because memory ran out
  std::uint64_t refused_bytes = 0;  // bytes that they requested: a capped_sum()
};

// Everything the recorder knows, copied for a report.
struct RecorderFacts {
  std::vector<FunctionTotals> functions;                  // by row of functions.def
  std::vector<std::pair<std::uint16_t, Timing>> devices;  // by ordinal; only used devices
  Timing host;
  std::vector<ModuleFact> modules;
  std::vector<SourceFact> sources;
  std::vector<CodeFact> codes;
  std::vector<FrameFact> frames;
  Rows<SiteFact> sites;
  Rows<TagFact> tags;               // index = Tag; tags[0] is unknown
  std::vector<std::string> owners;  // the names of the owner values
  std::vector<ThreadFact> threads;
  std::vector<StreamFact> streams;
  std::vector<RangeFact> ranges;  // added by the program's own calls, not by the recorder
  std::uint64_t range_marks = 0;  // marks that the program set
  std::vector<MarkFact> marks;    // the first of these marks
  std::vector<RepeatedMark> repeated_marks;
  std::uint64_t unrecorded_calls = 0;
  std::uint64_t dropped_stacks = 0;  // calls whose stack found no room, which have the unknown tag
  std::vector<std::string> warnings;
};

// Facts with their numbers, which replace earlier facts of the same number.
template <class Fact>
using Numbered = std::vector<std::pair<std::uint32_t, Fact>>;

// Returns the rows from index `known` on. May throw bad_alloc.
template <class Row>
[[nodiscard]] std::vector<Row> rows_from(const std::vector<Row>& rows, std::size_t known) {
  return {rows.begin() + static_cast<std::ptrdiff_t>(std::min(known, rows.size())), rows.end()};
}

// Returns the rows that changed since `changes`, which becomes `last`. `changed` has the number of
// each row's last change. May throw bad_alloc; `changes` is then unchanged.
template <class Row>
[[nodiscard]] Numbered<Row> rows_changed_since(std::uint64_t& changes, std::uint64_t last,
                                               const std::vector<Row>& rows,
                                               const std::vector<std::uint64_t>& changed) {
  Numbered<Row> result;
  if (changes == last) return result;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (changed[i] > changes) result.emplace_back(i, rows[i]);
  }
  changes = last;
  return result;
}

// How many of the things to which tags refer are known already. The numbers only grow.
struct KnownNames {
  std::size_t frames = 0;
  std::size_t sites = 0;
  std::size_t owners = 0;
  std::size_t tags = 0;
  friend bool operator==(const KnownNames&, const KnownNames&) = default;
};

}  // namespace vramscope
