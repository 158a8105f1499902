// Resets counters with the visit() that names them.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/statistics.h"

namespace vramscope {
namespace {

struct PeakReset {
  void pooled(const char*, PooledStat& stat) {
    PooledStat::visit(stat, [](const char*, Stat& s) { s.reset_peak(); });
  }
  void single(const char*, Stat& stat) { stat.reset_peak(); }
  void count(const char*, std::int64_t&) {}
  void setting(const char*, std::int64_t&) {}
};

struct AccumulatedReset {
  void pooled(const char*, PooledStat& stat) {
    PooledStat::visit(stat, [](const char*, Stat& s) { s.reset_accumulated(); });
  }
  void single(const char*, Stat& stat) { stat.reset_accumulated(); }
  void count(const char*, std::int64_t& value) { value = 0; }
  void setting(const char*, std::int64_t&) {}
};

}  // namespace

void DeviceStatistics::reset_peaks() { visit(*this, PeakReset{}); }
void DeviceStatistics::reset_accumulated() { visit(*this, AccumulatedReset{}); }
void HostStatistics::reset_peaks() { visit(*this, PeakReset{}); }
void HostStatistics::reset_accumulated() { visit(*this, AccumulatedReset{}); }

}  // namespace vramscope
