// Reading, writing down and judging what was recovered.
// SPDX-License-Identifier: Apache-2.0
#include "test/allocator/recovered_judge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace vramscope::test {

LiveImage::~LiveImage() {
  for (std::size_t i = 0; i < kLiveParts; ++i) {
    if (mapped_[i] != 0) munmap(reinterpret_cast<void*>(base_ + i * kLivePartBytes), mapped_[i]);
  }
}

const LiveHeader* LiveImage::refresh() {
  LiveHeader header;
  if (pread(file_, static_cast<void*>(&header), sizeof header, 0) !=
          static_cast<ssize_t>(sizeof header) ||
      header.base == 0 || header.allocator.load() == nullptr) {
    return nullptr;
  }
  base_ = header.base;
  for (std::size_t i = 0; i < kLiveParts; ++i) {
    const std::uint64_t bytes = header.bytes[i].load();
    if (bytes == mapped_[i]) continue;
    const std::uint64_t at = base_ + i * kLivePartBytes + mapped_[i];
    void* const pages = mmap(reinterpret_cast<void*>(at), bytes - mapped_[i], PROT_READ,
                             MAP_SHARED | MAP_FIXED_NOREPLACE, file_,
                             static_cast<off_t>(i * kLivePartBytes + mapped_[i]));
    if (pages == MAP_FAILED) return nullptr;
    mapped_[i] = bytes;
  }
  return reinterpret_cast<const LiveHeader*>(base_);
}

bool LiveImage::has_changed() {
  if (refresh() == nullptr) return true;
  bool differs = false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kLiveParts; ++i) {
    const auto* const part = reinterpret_cast<const char*>(base_ + i * kLivePartBytes);
    if (seen_.size() < at + mapped_[i]) differs = true;
    if (!differs) differs = std::memcmp(&seen_[at], part, mapped_[i]) != 0;
    if (differs) seen_.replace(at, std::string::npos, part, mapped_[i]);
    at += mapped_[i];
  }
  return differs;
}

namespace {

void write(std::ostream& out, const Stat& stat) {
  out << ' ' << stat.current << '/' << stat.peak << '/' << stat.allocated << '/' << stat.freed;
}

struct Fields {
  std::ostream& out;
  void pooled(const char* name, const PooledStat& stat) {
    out << name;
    for (const Stat& level : {stat.all, stat.small_pool, stat.large_pool}) write(out, level);
    out << '\n';
  }
  void single(const char* name, const Stat& stat) {
    out << name;
    write(out, stat);
    out << '\n';
  }
  void count(const char* name, std::int64_t value) { out << name << ' ' << value << '\n'; }
  void setting(const char* name, std::int64_t value) { count(name, value); }
};

template <class List>
void write_list(std::ostream& out, const char* name, const List& list) {
  out << ' ' << name;
  for (const auto& value : list) out << ' ' << value;
}

void write_books(std::ostream& out, const Snapshot& s) {
  for (const DeviceSnapshot& device : s.devices) {
    out << "device " << device.device << '\n';
    DeviceStatistics::visit(device.statistics, Fields{out});
  }
  out << "host " << s.host_used << '\n';
  HostStatistics::visit(s.host, Fields{out});
  for (const KindTotals& k : s.kinds) {
    out << "kind " << static_cast<int>(k.kind) << ' ' << k.device << ' ' << k.current_bytes << ' '
        << k.peak_bytes << ' ' << k.allocations << ' ' << k.frees << ' ' << k.peak_ns << ' '
        << k.peak_tag << '\n';
  }
  for (const KindTotals& k : s.joint_peaks) {
    out << "joint " << k.device << ' ' << k.current_bytes << ' ' << k.peak_bytes << ' ' << k.peak_ns
        << ' ' << k.peak_tag << '\n';
  }
  for (std::size_t i = 0; i < s.tags.size(); ++i) {
    const TagTotals& t = s.tags[i];
    out << "tag " << i << ' ' << t.live_bytes << ' ' << t.live_count << ' ' << t.peak_bytes << ' '
        << t.peak_count << ' ' << t.total_bytes << ' ' << t.total_count << ' ' << t.joint_bytes
        << ' ' << t.joint_count;
    write_list(out, "lifetimes", t.lifetimes);
    write_list(out, "history", t.history.last);
    out << ' ' << t.history.used << ' ' << t.history.doublings << '\n';
  }
  write_list(out, "groups", s.group_peaks);
  for (const TimelineSnapshot& t : s.timelines) {
    out << "\ntimeline " << static_cast<int>(t.kind) << ' ' << t.device << ' ' << t.bucket_ns;
    write_list(out, "highest", t.highest);
    write_list(out, "last", t.last);
  }
  out << "\ntimes " << s.start_ns << ' ' << s.taken_ns << '\n';
}

}  // namespace

std::string text_of(const Snapshot& s) {
  std::ostringstream out;
  write_books(out, s);
  for (const SegmentSnapshot& g : s.segments) {
    out << "segment " << g.place.packed() << ' ' << g.address << ' ' << g.total_size << ' '
        << g.allocated_size << ' ' << g.active_size << ' ' << g.requested_size << ' ' << g.is_small
        << g.is_expandable << g.is_direct << g.is_dedicated << g.is_exported << '\n';
    for (std::uint32_t i = 0; i < g.block_count; ++i) {
      const BlockSnapshot& b = s.blocks[g.first_block + i];
      out << "  " << b.address << ' ' << b.size << ' ' << b.requested_size << ' ' << b.tag << ' '
          << static_cast<int>(b.state) << ' ' << b.born_ns << '\n';
    }
  }
  return out.str();
}

namespace {

struct LevelCheck {
  std::string problem;
  void stat(const char* name, const Stat& stat) {
    if (stat.current != stat.allocated - stat.freed || stat.peak < stat.current || stat.freed < 0) {
      problem = std::string(name) + " disagrees with itself";
    }
  }
  void pooled(const char* name, const PooledStat& p) {
    for (const Stat& level : {p.all, p.small_pool, p.large_pool}) stat(name, level);
    if (p.all.current != p.small_pool.current + p.large_pool.current) problem = name;
  }
  void single(const char* name, const Stat& s) {
    if (std::string_view(name).find("oversize") == std::string_view::npos) stat(name, s);
  }
  void count(const char*, std::int64_t) {}
  void setting(const char*, std::int64_t) {}
};

std::string tiling_problem(const Snapshot& s) {
  for (const SegmentSnapshot& g : s.segments) {
    Address expected = g.address;
    bool was_free = false;
    for (std::uint32_t i = 0; i < g.block_count; ++i) {
      const BlockSnapshot& b = s.blocks[g.first_block + i];
      if (b.address != expected) return "blocks do not tile";
      const bool is_free = b.state == BlockState::inactive;
      if (is_free && was_free) return "two free neighbours";
      was_free = is_free;
      expected += b.size;
    }
    if (expected != g.address + g.total_size) return "blocks do not fill";
  }
  return {};
}

std::string ledger_problem(const Snapshot& s) {
  std::uint64_t in_kinds = 0, in_tags = 0, live = 0, peaks = 0, at_peak = 0, made = 0, calls = 0;
  for (const KindTotals& k : s.kinds) {
    in_kinds += k.current_bytes, peaks += k.peak_bytes, calls += k.allocations;
    if (k.peak_bytes < k.current_bytes) return "a peak is below what is there";
  }
  for (const TagTotals& t : s.tags) {
    in_tags += t.live_bytes, at_peak += t.peak_bytes, made += t.total_count;
    std::uint64_t ended = 0;
    for (const std::uint32_t lives : t.lifetimes) ended += lives;
    if (t.total_count < t.live_count) return "more is live than was made";
  }
  for (const BlockSnapshot& b : s.blocks) {
    if (b.state != BlockState::inactive) live += b.requested_size;
  }
  if (in_kinds != live) return "kinds are not what is live";
  if (in_tags != live) return "tags are not what is live";
  if (peaks != at_peak) return "tags are not their kinds' peaks";
  return made == calls ? "" : "tags are not their kinds' allocations";
}

std::string joint_problem(const Snapshot& s) {
  std::uint64_t peaks = 0, in_tags = 0;
  for (const KindTotals& joint : s.joint_peaks) {
    std::uint64_t current = 0, highest = 0;
    for (const KindTotals& k : s.kinds) {
      if (k.device != joint.device || !takes_device_memory(k.kind)) continue;
      current += k.current_bytes;
      highest = std::max(highest, k.peak_bytes);
    }
    if (joint.current_bytes != current) return "all kinds together are not what kinds are";
    if (joint.peak_bytes < std::max(current, highest)) return "the joint peak is below a kind's";
    peaks += joint.peak_bytes;
  }
  for (const TagTotals& t : s.tags) in_tags += t.joint_bytes;
  return peaks == in_tags ? "" : "tags are not the joint peaks";
}

std::string statistics_problem(const Snapshot& s) {
  std::int64_t reserved = 0, allocated = 0, requested = 0, host = 0;
  for (const SegmentSnapshot& g : s.segments) {
    const bool is_device = g.place.kind == Kind::device;
    reserved += is_device ? static_cast<std::int64_t>(g.total_size) : 0;
    allocated += is_device ? static_cast<std::int64_t>(g.allocated_size) : 0;
    requested += is_device ? static_cast<std::int64_t>(g.requested_size) : 0;
    host += is_host(g.place.kind) ? static_cast<std::int64_t>(g.active_size) : 0;
  }
  LevelCheck check;
  for (const DeviceSnapshot& device : s.devices) {
    const DeviceStatistics& d = device.statistics;
    DeviceStatistics::visit(d, check);
    reserved -= d.reserved_bytes.all.current;
    allocated -= d.allocated_bytes.all.current;
    requested -= d.requested_bytes.all.current;
  }
  HostStatistics::visit(s.host, check);
  if (!check.problem.empty()) return check.problem;
  if (s.host.active_bytes.current != host) return "the host's bytes are not those of its blocks";
  return reserved == 0 && allocated == 0 && requested == 0 ? "" : "a device's bytes differ";
}

}  // namespace

std::string disagreement(const Snapshot& s) {
  if (std::string problem = tiling_problem(s); !problem.empty()) return problem;
  if (std::string problem = ledger_problem(s); !problem.empty()) return problem;
  if (std::string problem = joint_problem(s); !problem.empty()) return problem;
  return statistics_problem(s);
}

std::string difference(const Snapshot& s, const ProgramLog& log) {
  using Known = std::tuple<std::uint64_t, std::uint64_t, Tag>;
  std::map<std::pair<Address, Kind>, Known> held;
  for (const ProgramLog::Held& one : log.held) {
    if (one.address != 0) held[{one.address, one.where.kind}] = {one.bytes, one.size, one.tag};
  }
  const std::uint32_t slot = log.slot.load();
  const bool is_free = slot < ProgramLog::kSlots && log.bytes.load() == 0;
  int excess = 0;
  for (const SegmentSnapshot& g : s.segments) {
    for (std::uint32_t i = 0; i < g.block_count; ++i) {
      const BlockSnapshot& b = s.blocks[g.first_block + i];
      if (b.state != BlockState::active_allocated) continue;
      const auto found = held.find({b.address, g.place.kind});
      if (found != held.end()) {
        if (found->second != Known{b.requested_size, b.size, b.tag}) {
          return "the block at " + std::to_string(b.address) + " is another's";
        }
        held.erase(found);
        continue;
      }
      // A free that is complete, but not in the log yet, has its address there still.
      if (slot >= ProgramLog::kSlots || ++excess > 1) return "a block that nobody asked for";
      if (log.bytes.load() != 0 && b.requested_size != log.bytes.load()) return "an odd new block";
    }
  }
  if (slot == ProgramLog::kEndsPlace) {
    for (const ProgramLog::Held& one : log.held) {
      if (one.where == ProgramLog::kEnding) held.erase({one.address, one.where.kind});
    }
  }
  if (held.size() > 1) return std::to_string(held.size()) + " blocks are missing";
  if (held.empty()) return {};
  const bool is_expected =
      is_free && held.begin()->first.first == log.held[slot].address && excess == 0;
  return is_expected ? "" : "a block is missing that is not being freed";
}

}  // namespace vramscope::test
