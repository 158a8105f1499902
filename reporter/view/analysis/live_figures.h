// LiveFigures are what is shown of a running program: of each GPU, and of each call site, owner,
// range and thread, with what has changed since a mark.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "allocator/base/named_enum.h"
#include "allocator/base/place.h"

namespace vramscope {

struct DeviceReport;
struct Report;

// What the memory of one GPU is used for. The parts add up to `total_bytes`, if that is known.
struct LiveGpu {
  const DeviceReport* report = nullptr;
  std::uint64_t total_bytes = 0;   // 0: not known
  std::uint64_t live_bytes = 0;    // requested, of all kinds that take its memory
  std::uint64_t cached_bytes = 0;  // reserved beyond that: freed memory, rounding
  std::uint64_t driver_bytes = 0;  // contexts, code, memory of the driver's pools
  std::uint64_t others_bytes = 0;  // of other processes, or not known whose, at the last sample
  std::uint64_t before_bytes = 0;  // of this process, from before it was attached
  std::uint64_t peak_bytes = 0;    // of what was live
  [[nodiscard]] std::uint64_t used_bytes() const {
    return live_bytes + cached_bytes + driver_bytes + others_bytes + before_bytes;
  }
};
// It refers to the report, which outlives it. May throw bad_alloc, like all functions here.
[[nodiscard]] std::vector<LiveGpu> live_gpus(const Report& report);

#define VRAMSCOPE_LIVE_GROUPS(X) X(sites) X(owners) X(ranges) X(threads)
VRAMSCOPE_NAMED_ENUM(LiveGroup, std::uint8_t, VRAMSCOPE_LIVE_GROUPS);

struct LiveRow {
  // The same in each reading of one process: what, and of which kind and device.
  using Key = std::tuple<std::string, Kind, std::uint16_t>;
  Key key = {};
  bool is_changing = false;  // what was allocated or freed during the reading
  std::int64_t site = -1;    // of sites: index into Report::sites
  std::string value = {};    // of other groups: the value of the axis
  std::uint64_t live_bytes = 0;
  std::uint64_t live_count = 0;
  std::uint64_t total_count = 0;                 // allocations since the start
  std::optional<std::int64_t> grown_bytes = {};  // since the mark; nothing: there is none
  [[nodiscard]] Kind kind() const { return std::get<1>(key); }
  [[nodiscard]] std::uint16_t device() const { return std::get<2>(key); }
};

// What every row held when the mark was set.
class LiveMark {
 public:
  void set(const Report& report, std::uint64_t time_ns);
  [[nodiscard]] bool is_set() const { return time_ns_ != 0; }
  [[nodiscard]] std::uint64_t time_ns() const { return time_ns_; }  // since 1970
  [[nodiscard]] std::optional<std::uint64_t> bytes_of(LiveGroup group,
                                                      const LiveRow::Key& key) const;

 private:
  std::uint64_t time_ns_ = 0;
  std::map<std::pair<LiveGroup, LiveRow::Key>, std::uint64_t> bytes_;
};

// Rows that hold something or have changed since the mark, the largest first. The rows of a group
// add up to its kinds.
[[nodiscard]] std::vector<LiveRow> live_rows(const Report& report, LiveGroup group,
                                             const LiveMark& mark);

struct LiveSample {
  std::uint64_t time_ns = 0;  // since 1970
  std::uint64_t live_bytes = 0;
};
// The last minutes of all GPUs together, as far as they were read.
class LiveHistory {
 public:
  static constexpr std::uint64_t kLongestNs = std::uint64_t{300} * 1'000'000'000;

  void add(const Report& report);
  [[nodiscard]] const std::deque<LiveSample>& samples() const { return samples_; }
  // The most in each of `count` equal parts of the last `length_ns`; a part without a sample has
  // that of the one before.
  [[nodiscard]] std::vector<std::uint64_t> columns(std::size_t count,
                                                   std::uint64_t length_ns) const;
  // How long the samples reach back, at most kLongestNs.
  [[nodiscard]] std::uint64_t length_ns() const;

 private:
  std::deque<LiveSample> samples_;
};

}  // namespace vramscope
