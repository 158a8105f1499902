// What the judge of the allocator counts and tells: see naive_model.h.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <tuple>

#include "test/model/naive_model.h"
#include "test/model/naive_rules.h"

namespace vramscope {
namespace {

const std::array<const char*, 9> kPooled = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes"};
const std::array<const char*, 5> kCounts = {"num_alloc_retries", "num_ooms", "num_sync_all_streams",
                                            "num_device_alloc", "num_device_free"};
const std::array<const char*, 2> kOversize = {"oversize_allocations", "oversize_segments"};
const std::array<const char*, 3> kPools = {"all", "small_pool", "large_pool"};

void put(std::map<std::string, std::int64_t>& keys, const std::string& name, const ModelStat& s) {
  keys[name + ".current"] = s.current;
  keys[name + ".peak"] = s.peak;
  keys[name + ".allocated"] = s.allocated;
  keys[name + ".freed"] = s.freed;
}

void reset_accumulated(ModelStat& stat) { stat.allocated = stat.freed = 0; }
void reset_peak(ModelStat& stat) { stat.peak = stat.current; }

}  // namespace

void ModelStat::add(std::int64_t amount) {
  current += amount;
  (amount > 0 ? allocated : freed) += amount > 0 ? amount : -amount;
  peak = std::max(peak, current);
}

ModelDevice::ModelDevice() {
  for (const char* name : kPooled) pooled[name] = {};
  for (const char* name : kOversize) oversize[name] = {};
  for (const char* name : kCounts) counts[name] = 0;
}

void ModelDevice::add(const std::string& name, bool is_small, std::int64_t amount) {
  ModelPooled& stats = pooled.at(name);
  stats[0].add(amount);
  stats[is_small ? 1 : 2].add(amount);
}

// What begins when a block is handed out and ends when its free is complete.
void ModelDevice::add_block(const ModelBlock& block, bool is_small, int sign) {
  add("active", is_small, sign);
  add("active_bytes", is_small, sign * as_signed(block.size));
  add("requested_bytes", is_small, sign * as_signed(block.requested));
}

void NaiveModel::count_segment(const ModelSegment& segment, int sign) {
  if (segment.place.kind == Kind::pinned) {
    return count_host({"segment", "reserved_bytes"}, {.size = segment.size}, sign);
  }
  ModelDevice& device = devices_[segment.place.device];
  device.add("segment", segment.is_small, sign);
  device.add("reserved_bytes", segment.is_small, sign * as_signed(segment.size));
  if (sign > 0) ++device.counts["num_device_alloc"];
  count_oversize("oversize_segments", segment.place, segment.size, sign);
}

void NaiveModel::count_oversize(const char* name, Place where, std::uint64_t size, int sign) {
  if (size >= limits_.max_split_size) devices_[where.device].oversize[name].add(sign);
}

std::uint64_t NaiveModel::share(Place where, double fraction) const {
  return static_cast<std::uint64_t>(fraction * static_cast<double>(backend_.total_bytes(where)));
}

void NaiveModel::count_host(const std::vector<const char*>& names, const ModelBlock& block,
                            int sign) {
  for (const char* name : names) {
    const bool is_bytes = std::string(name).find("bytes") != std::string::npos;
    host_[name].add(sign * (is_bytes ? as_signed(block.size) : 1));
  }
}

// The program never saw the block, which came and went: of that only what was live at peaks stays.
void NaiveModel::forget_request(Place where, const ModelBlock& block) {
  KindTotals& kind = kinds_[{where.kind, where.device}];
  --kind.allocations;
  --kind.frees;
  tags_[block.tag].total_bytes -= block.requested;
  --tags_[block.tag].total_count;
}

// Requested bytes by kind and by tag. At each new peak of a kind every tag of it is remembered.
void NaiveModel::count_request(Place where, const ModelBlock& block, int sign) {
  const Account account{where.kind, where.device};
  KindTotals& kind = kinds_[account];
  TagTotals& tag = tags_[block.tag];
  account_of_[block.tag] = account;
  kind.kind = where.kind;
  kind.device = where.device;
  if (sign > 0) {
    kind.current_bytes += block.requested;
    ++kind.allocations;
    tag.live_bytes += block.requested;
    tag.total_bytes += block.requested;
    ++tag.live_count;
    ++tag.total_count;
  } else {
    kind.current_bytes -= block.requested;
    tag.live_bytes -= block.requested;
    --tag.live_count;
  }
  if (sign > 0) note_joint_peak(where);
  if (kind.current_bytes <= kind.peak_bytes) return;

  kind.peak_bytes = kind.current_bytes;
  for (auto& [id, totals] : tags_) {
    if (account_of_[id] != account) continue;
    totals.peak_bytes = totals.live_bytes;
    totals.peak_count = totals.live_count;
  }
}

// All kinds of a device together; at each new peak every tag of the device is remembered.
void NaiveModel::note_joint_peak(Place where) {
  if (!takes_device_memory(where.kind)) return;
  std::uint64_t current = 0;
  for (const auto& [account, kind] : kinds_) {
    if (is_of_device(account, where.device)) current += kind.current_bytes;
  }
  std::uint64_t& peak = joint_peaks_[where.device];
  if (current <= peak && peak != 0) return;
  peak = current;
  for (auto& [id, totals] : tags_) {
    if (!is_of_device(account_of_[id], where.device)) continue;
    totals.joint_bytes = totals.live_bytes;
    totals.joint_count = totals.live_count;
  }
}

bool NaiveModel::is_of_device(const Account& account, std::uint16_t device) {
  return takes_device_memory(account.first) && account.second == device;
}

std::map<std::uint16_t, std::uint64_t> NaiveModel::joint_peaks() const {
  std::map<std::uint16_t, std::uint64_t> several;
  for (const auto& [device, peak] : joint_peaks_) {
    const std::uint16_t its = device;
    const auto kinds = std::count_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
      return is_of_device(kind.first, its);
    });
    if (kinds > 1) several[device] = peak;
  }
  return several;
}

std::map<Tag, TagTotals> NaiveModel::tags() const {
  std::map<Tag, TagTotals> all = tags_;
  const auto several = joint_peaks();
  for (auto& [id, totals] : all) {
    const Account account = account_of_.at(id);
    if (takes_device_memory(account.first) && several.contains(account.second)) continue;
    totals.joint_bytes = totals.joint_count = 0;
  }
  return all;
}

void NaiveModel::reset_peaks() {
  for (auto& [ordinal, device] : devices_) {
    for (auto& [name, stats] : device.pooled) {
      for (ModelStat& stat : stats) reset_peak(stat);
    }
    for (auto& [name, stat] : device.oversize) reset_peak(stat);
  }
  for (auto& [name, stat] : host_) reset_peak(stat);
  for (auto& [account, kind] : kinds_) kind.peak_bytes = kind.current_bytes;
  for (auto& [id, totals] : tags_) {
    totals.peak_bytes = totals.live_bytes;
    totals.peak_count = totals.live_count;
  }
  for (auto& [device, peak] : joint_peaks_) {
    peak = 0;
    note_joint_peak({.kind = Kind::device, .device = device});
  }
}

void NaiveModel::reset_accumulated() {
  for (auto& [ordinal, device] : devices_) {
    for (auto& [name, stats] : device.pooled) {
      for (ModelStat& stat : stats) vramscope::reset_accumulated(stat);
    }
    for (auto& [name, stat] : device.oversize) vramscope::reset_accumulated(stat);
    for (auto& [name, count] : device.counts) count = 0;
  }
  for (auto& [name, stat] : host_) vramscope::reset_accumulated(stat);
  num_host_alloc_ = num_host_free_ = 0;
}

std::map<std::string, std::int64_t> NaiveModel::device_keys(std::uint16_t device) const {
  std::map<std::string, std::int64_t> keys;
  const auto found = devices_.find(device);
  const ModelDevice state = found == devices_.end() ? ModelDevice{} : found->second;
  for (const auto& [name, stats] : state.pooled) {
    for (std::size_t i = 0; i < kPools.size(); ++i) put(keys, name + "." + kPools[i], stats[i]);
  }
  for (const auto& [name, stat] : state.oversize) put(keys, name, stat);
  for (const auto& [name, count] : state.counts) {
    if (name != "num_oom_rejections" || count != 0) keys[name] = count;  // newer than 2.6
  }
  keys["max_split_size"] = as_signed(limits_at_start_.max_split_size);  // -1: unlimited
  return keys;
}

std::map<std::string, std::int64_t> NaiveModel::host_keys() const {
  std::map<std::string, std::int64_t> keys;
  for (const char* name : kHostKeys) {
    const auto found = host_.find(name);
    put(keys, name, found == host_.end() ? ModelStat{} : found->second);
  }
  keys["num_host_alloc"] = num_host_alloc_;
  keys["num_host_free"] = num_host_free_;
  return keys;
}

std::vector<KindTotals> NaiveModel::kinds() const {
  std::vector<KindTotals> all;
  for (const auto& [account, kind] : kinds_) all.push_back(kind);
  return all;
}

bool NaiveModel::owns(Address address) const {
  return std::any_of(segments_.begin(), segments_.end(), [&](const ModelSegment& segment) {
    return !segment.is_direct && address >= segment.address &&
           address - segment.address < segment.size;
  });
}

// What limits apply to: segments of ours, not what the program took from the driver itself.
std::uint64_t NaiveModel::own_bytes(std::uint16_t device) const {
  std::uint64_t sum = 0;
  for (const ModelSegment& segment : segments_) {
    const bool is_device = segment.place.kind == Kind::device && segment.place.device == device;
    if (is_device && !segment.is_direct) sum += segment.size;
  }
  return sum;
}

std::uint64_t NaiveModel::idle_bytes(std::uint16_t device) const {
  std::uint64_t sum = 0;
  for (const ModelSegment& segment : segments_) {
    const bool is_device = segment.place.kind == Kind::device && segment.place.device == device;
    if (is_device && segment.is_idle()) sum += segment.size;
  }
  return sum;
}

std::vector<ModelSegment> NaiveModel::segments() const {
  std::vector<ModelSegment> sorted = segments_;
  const auto key = [](const ModelSegment& s) {
    return std::make_tuple(s.place.kind, s.place.device, s.address);
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const ModelSegment& a, const ModelSegment& b) { return key(a) < key(b); });
  return sorted;
}

}  // namespace vramscope
