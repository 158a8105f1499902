// What must be equal between the allocator and its judge: see comparison.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/model/comparison.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

namespace vramscope {
namespace {

using Keys = std::map<std::string, std::int64_t>;

// Flattens by visit(), as the report does.
struct Flattener {
  Keys& keys;
  void single(const std::string& name, const Stat& stat) {
    Stat::visit(stat, [&](const char* part, std::int64_t v) { keys[name + "." + part] = v; });
  }
  void pooled(const std::string& name, const PooledStat& stat) {
    PooledStat::visit(stat, [&](const char* pool, const Stat& s) { single(name + "." + pool, s); });
  }
  void count(const char* name, std::int64_t value) { keys[name] = value; }
  void setting(const char* name, std::int64_t value) { keys[name] = value; }
};

template <class Statistics>
Keys flattened(const Statistics& statistics) {
  Keys keys;
  Flattener flattener{keys};
  Statistics::visit(statistics, flattener);
  return keys;
}

template <class Value>
std::string unequal(const std::string& name, const Value& ours, const Value& expected) {
  std::ostringstream out;
  if (ours != expected) out << name << ": " << ours << ", expected " << expected;
  return out.str();
}

std::string unequal_keys(const std::string& where, const Keys& ours, const Keys& expected) {
  for (const auto& [name, value] : expected) {
    const auto found = ours.find(name);
    if (found == ours.end()) return where + name + " is missing";
    if (found->second != value) return unequal(where + name, found->second, value);
  }
  return ours.size() == expected.size() ? "" : where + "has keys that the model does not know";
}

std::string text_of(const BlockSnapshot& block) {
  std::ostringstream out;
  out << std::hex << "0x" << block.address << std::dec << " size " << block.size << " requested "
      << block.requested_size << " tag " << block.tag << " state " << static_cast<int>(block.state);
  return out.str();
}

std::string text_of(const ModelBlock& block) {
  return text_of(BlockSnapshot{block.address, block.size, block.requested, block.tag, block.state});
}

std::string text_of(Place place, Address address, std::uint64_t size, bool small, bool direct,
                    bool dedicated, bool exported) {
  std::ostringstream out;
  out << "segment 0x" << std::hex << address << std::dec << " size " << size << " kind "
      << static_cast<int>(place.kind) << " device " << place.device << " context " << place.context
      << (small ? " small" : " large") << (direct ? " direct" : "")
      << (dedicated ? " dedicated" : "") << (exported ? " exported" : "");
  return out.str();
}

std::string segment_difference(const Snapshot& snapshot, const SegmentSnapshot& ours,
                               const ModelSegment& model) {
  const std::string expected = text_of(model.place, model.address, model.size, model.is_small,
                                       model.is_direct, model.is_whole, model.is_exported);
  const std::string name = text_of(ours.place, ours.address, ours.total_size, ours.is_small,
                                   ours.is_direct, ours.is_dedicated, ours.is_exported);
  if (name != expected) return unequal("segment", name, expected);
  if (ours.block_count != model.blocks.size()) {
    return unequal<std::size_t>(name + ": blocks", ours.block_count, model.blocks.size());
  }
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const std::string block = text_of(snapshot.blocks[ours.first_block + i]);
    if (block != text_of(model.blocks[i])) return unequal(name, block, text_of(model.blocks[i]));
  }
  return {};
}

std::string tag_difference(const Snapshot& snapshot, const NaiveModel& model) {
  for (const auto& [tag, expected] : model.tags()) {
    if (tag >= snapshot.tags.size()) return "tag " + std::to_string(tag) + " is missing";
    const TagTotals& ours = snapshot.tags[tag];
    const auto text = [](const TagTotals& t) {
      std::ostringstream out;
      out << "live " << t.live_bytes << '/' << t.live_count << " peak " << t.peak_bytes << '/'
          << t.peak_count << " total " << t.total_bytes << '/' << t.total_count << " joint "
          << t.joint_bytes << '/' << t.joint_count;
      return out.str();
    };
    const std::string found = unequal("tag " + std::to_string(tag), text(ours), text(expected));
    if (!found.empty()) return found;
  }
  return {};
}

std::string kind_difference(const Snapshot& snapshot, const NaiveModel& model) {
  const auto text = [](const std::vector<KindTotals>& kinds) {
    std::ostringstream out;
    for (const KindTotals& k : kinds) {
      out << "kind " << static_cast<int>(k.kind) << " device " << k.device << " current "
          << k.current_bytes << " peak " << k.peak_bytes << " calls " << k.allocations << '/'
          << k.frees << "; ";
    }
    return out.str();
  };
  return unequal("kinds", text(snapshot.kinds), text(model.kinds()));
}

std::string joint_peak_difference(const Snapshot& snapshot, const NaiveModel& model) {
  std::map<std::uint16_t, std::uint64_t> ours;
  for (const KindTotals& joint : snapshot.joint_peaks) ours[joint.device] = joint.peak_bytes;
  const auto text = [](const std::map<std::uint16_t, std::uint64_t>& peaks) {
    std::ostringstream out;
    for (const auto& [device, bytes] : peaks) out << "device " << device << ' ' << bytes << "; ";
    return out.str();
  };
  return unequal("joint peaks", text(ours), text(model.joint_peaks()));
}

// Current values of one device as its blocks tell them.
struct Recount {
  Keys keys;
  void add(const std::string& name, bool is_small, std::uint64_t amount) {
    keys[name + ".all.current"] += static_cast<std::int64_t>(amount);
    keys[name + (is_small ? ".small_pool" : ".large_pool") + ".current"] +=
        static_cast<std::int64_t>(amount);
  }
  void add(const SegmentSnapshot& segment, const BlockSnapshot& block) {
    const bool small = segment.is_small;
    if (block.state == BlockState::inactive && segment.block_count > 1) {
      add("inactive_split", small, 1);
      add("inactive_split_bytes", small, block.size);
    }
    if (block.state == BlockState::inactive) return;
    add("active", small, 1);
    add("active_bytes", small, block.size);
    add("requested_bytes", small, block.requested_size);
    if (block.state != BlockState::active_allocated) return;
    add("allocation", small, 1);
    add("allocated_bytes", small, block.size);
  }
};

std::string tiling_fault(const Snapshot& snapshot, const SegmentSnapshot& segment) {
  Address next = segment.address;
  std::uint64_t allocated = 0;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  for (std::uint32_t i = 0; i < segment.block_count; ++i) {
    const BlockSnapshot& block = snapshot.blocks[segment.first_block + i];
    if (block.address != next) return "a gap or overlap before block " + text_of(block);
    next = block.address + block.size;
    const bool is_free = block.state == BlockState::inactive;
    if (i > 0 && is_free && snapshot.blocks[segment.first_block + i - 1].state == block.state) {
      return "two free neighbours at " + text_of(block);
    }
    if (block.state == BlockState::active_allocated) allocated += block.size;
    if (!is_free) active += block.size;
    if (!is_free) requested += block.requested_size;
  }
  if (next != segment.address + segment.total_size) return "blocks do not fill their segment";
  const bool is_equal = allocated == segment.allocated_size && active == segment.active_size &&
                        requested == segment.requested_size;
  return is_equal ? "" : "sums of segment are not those of its blocks";
}

std::string recount_fault(const Snapshot& snapshot) {
  std::map<std::uint16_t, Recount> devices;
  for (const SegmentSnapshot& segment : snapshot.segments) {
    const std::string fault = tiling_fault(snapshot, segment);
    if (!fault.empty()) return fault;
    if (segment.place.kind != Kind::device) continue;
    Recount& recount = devices[segment.place.device];
    recount.add("segment", segment.is_small, 1);
    recount.add("reserved_bytes", segment.is_small, segment.total_size);
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      recount.add(segment, snapshot.blocks[segment.first_block + i]);
    }
  }
  for (const DeviceSnapshot& device : snapshot.devices) {
    for (const auto& [name, value] : flattened(device.statistics)) {
      if (name.find(".current") == std::string::npos) continue;
      if (name.starts_with("oversize")) continue;  // by the limit at the time of each event
      const std::string found = unequal("device " + std::to_string(device.device) + " " + name,
                                        value, devices[device.device].keys[name]);
      if (!found.empty()) return found + " by a walk over the blocks";
    }
  }
  return {};
}

std::string tag_sum_fault(const Snapshot& snapshot) {
  for (const KindTotals& kind : snapshot.kinds) {
    const Tag first = 1 + account_index(kind.kind, kind.device) * kTagsPerAccount;
    std::uint64_t live = 0;
    std::uint64_t peak = 0;
    for (Tag tag = first; tag < first + kTagsPerAccount && tag < snapshot.tags.size(); ++tag) {
      live += snapshot.tags[tag].live_bytes;
      peak += snapshot.tags[tag].peak_bytes;
    }
    const std::string name = "kind " + std::to_string(static_cast<int>(kind.kind)) + " device " +
                             std::to_string(kind.device) + " tags add up";
    if (live != kind.current_bytes) return unequal(name, live, kind.current_bytes);
    if (peak != kind.peak_bytes) return unequal(name + " at the peak", peak, kind.peak_bytes);
    if (kind.kind != Kind::device) continue;
    for (const DeviceSnapshot& device : snapshot.devices) {
      if (device.device != kind.device) continue;
      const Stat& all = device.statistics.requested_bytes.all;
      if (static_cast<std::uint64_t>(all.current) != live) return name + " not to requested_bytes";
      if (static_cast<std::uint64_t>(all.peak) != peak) return name + " not to the peak of bytes";
    }
  }
  return {};
}

}  // namespace

std::string difference(const Snapshot& snapshot, const NaiveModel& model) {
  for (const DeviceSnapshot& device : snapshot.devices) {
    const std::string where = "device " + std::to_string(device.device) + " ";
    std::string found =
        unequal_keys(where, flattened(device.statistics), model.device_keys(device.device));
    if (!found.empty()) return found;
  }
  std::string found = unequal_keys("host ", flattened(snapshot.host), model.host_keys());
  if (!found.empty()) return found;

  const std::vector<ModelSegment> expected = model.segments();
  for (std::size_t i = 0; i < std::min(expected.size(), snapshot.segments.size()); ++i) {
    found = segment_difference(snapshot, snapshot.segments[i], expected[i]);
    if (!found.empty()) return found;
  }
  found = unequal("number of segments", snapshot.segments.size(), expected.size());
  if (!found.empty()) return found;
  found = kind_difference(snapshot, model);
  if (found.empty()) found = joint_peak_difference(snapshot, model);
  return found.empty() ? tag_difference(snapshot, model) : found;
}

std::string inconsistency(const Snapshot& snapshot) {
  const std::string fault = recount_fault(snapshot);
  return fault.empty() ? tag_sum_fault(snapshot) : fault;
}

}  // namespace vramscope
