// PyTorch's memory snapshot, as pickle and as JSON: segments with their blocks, and of a trace each
// allocation and free. Of a trace each block is a segment of its own.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "reporter/report/files/scratch_file.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/export/tree_writer.h"

namespace vramscope {
namespace {

// In the viewer an address is one of a device.
bool shows(Kind kind) {
  return holds_memory(kind) && has_device(kind) && space_of(kind) == Space::memory;
}

class MemorySnapshot {
 public:
  MemorySnapshot(const Exported& exported, TreeWriter& tree)
      : exported_(exported), tree_(tree), stacks_(exported) {}

  std::string write() {
    tree_.begin_dictionary();
    const std::string problem = exported_.names() == nullptr ? of_report() : of_trace();
    tree_.end();
    tree_.finish();
    return problem;
  }

 private:
  std::string of_report() {
    const Report& report = exported_.report();
    tree_.key("segments");
    tree_.begin_list();
    for (const DeviceReport& device : report.devices) {
      for (const SegmentFacts& segment : device.segments) {
        if (shows(segment.kind)) write_segment(segment);
      }
    }
    tree_.end();
    tree_.key("device_traces");
    tree_.begin_list();
    for (std::size_t i = 0; i < report.devices.size(); ++i) {
      tree_.begin_list();
      tree_.end();
    }
    tree_.end();
    return "";
  }

  void write_segment(const SegmentFacts& segment) {
    tree_.begin_dictionary();
    write_segment_head(segment.device, segment.address, segment.total_size);
    tree_.field("allocated_size", segment.allocated_size);
    tree_.field("active_size", segment.active_size);
    tree_.field("requested_size", segment.requested_size);
    tree_.field("segment_type", segment.is_small ? "small" : "large");
    tree_.key("is_expandable");
    tree_.boolean(segment.is_expandable);
    tree_.key("blocks");
    tree_.begin_list();
    for (const BlockFacts& block : segment.blocks) {
      const std::string_view state = kBlockStateNames[static_cast<std::size_t>(block.state)];
      write_block(block.address, block.size, block.requested_size, state, block.site);
    }
    tree_.end();
    tree_.end();
  }

  void write_segment_head(std::uint16_t device, Address address, std::uint64_t bytes) {
    tree_.field("device", std::uint64_t{device});
    tree_.field("address", address);
    tree_.field("total_size", bytes);
    tree_.field("stream", std::uint64_t{0});
    tree_.key("frames");
    write_frames(kNoSite);
  }

  void write_block(Address address, std::uint64_t size, std::uint64_t requested,
                   std::string_view state, std::int64_t site) {
    tree_.begin_dictionary();
    tree_.field("address", address);
    tree_.field("size", size);
    tree_.field("requested_size", requested);
    tree_.field("state", state);
    tree_.key("frames");
    write_frames(site);
    tree_.end();
  }

  static constexpr std::int64_t kNoSite = -1;
  void write_frames(std::int64_t site) {
    if (tree_.again(static_cast<std::uint64_t>(site + 1))) return;
    tree_.begin_list();
    if (site != kNoSite) {
      for (const std::uint32_t index : stacks_.stack(static_cast<std::size_t>(site))) {
        const NamedFrame& frame = stacks_.frame(index);
        tree_.begin_dictionary();
        tree_.field("name", std::string_view(frame.function));
        tree_.field("filename", std::string_view(frame.file.empty() ? frame.module : frame.file));
        tree_.field("line", static_cast<std::uint64_t>(std::max(frame.line, 0)));
        tree_.end();
      }
    }
    tree_.end();
  }

  std::string of_trace() {
    std::uint16_t devices = 0;
    for (const KindFacts& kind : exported_.report().kinds) {
      if (shows(kind.kind)) devices = std::max<std::uint16_t>(devices, kind.device + 1);
    }
    tree_.key("device_traces");
    tree_.begin_list();
    std::vector<WalkedBlock> live;
    const std::string problem = devices == 0 ? "" : write_traces(devices, live);
    tree_.end();
    tree_.key("segments");
    tree_.begin_list();
    for (const WalkedBlock& block : live) write_live(block);
    tree_.end();
    return problem;
  }

  // One after the other, and the trace is followed once: those of devices behind the first are kept
  // until it is written.
  std::string write_traces(std::uint16_t devices, std::vector<WalkedBlock>& live) {
    std::vector<ScratchFile> kept;
    for (std::uint16_t device = 1; device < devices; ++device) kept.emplace_back();
    TraceWalk walk([&](const WalkedBlock& block, const auto&, std::uint64_t now_ns, bool came) {
      if (!shows(block.place.kind)) return;
      const Change change{.address = block.address,
                          .bytes = block.bytes,
                          .us = (exported_.report().timeline.start_ns + now_ns) / 1000,
                          .site = static_cast<std::int64_t>(exported_.site_of(block.tag)),
                          .came = came};
      if (block.place.device == 0) return write_change(change);
      std::array<char, sizeof change> bytes;
      std::memcpy(bytes.data(), &change, sizeof change);
      kept[block.place.device - 1U].append({bytes.data(), bytes.size()});
    });
    tree_.begin_list();
    std::string problem = exported_.follow(walk);
    tree_.end();
    for (ScratchFile& file : kept) {
      tree_.begin_list();
      file.flush();
      std::array<char, sizeof(Change)> bytes;
      for (std::uint64_t at = 0; at < file.size();
           at += file.read(at, bytes.data(), bytes.size())) {
        Change change;
        std::memcpy(&change, bytes.data(), sizeof change);
        write_change(change);
      }
      tree_.end();
    }
    for (const WalkedBlock& block : walk.live()) {
      if (shows(block.place.kind)) live.push_back(block);
    }
    std::stable_sort(live.begin(), live.end(),
                     [](const auto& a, const auto& b) { return a.place.device < b.place.device; });
    return problem;
  }

  // Memory that came or went.
  struct Change {
    Address address = 0;
    std::uint64_t bytes = 0;
    std::uint64_t us = 0;
    std::int64_t site = 0;
    bool came = false;
  };
  void write_change(const Change& change) {
    if (change.came) {
      write_event("segment_alloc", change);
      write_event("alloc", change);
      return;
    }
    for (const char* const action : {"free_requested", "free_completed", "segment_free"})
      write_event(action, change);
  }

  void write_event(const char* action, const Change& change) {
    tree_.begin_dictionary();
    tree_.field("action", action);
    tree_.field("addr", change.address);
    tree_.field("size", change.bytes);
    tree_.field("stream", std::uint64_t{0});
    tree_.field("time_us", change.us);
    tree_.key("frames");
    write_frames(change.site);
    tree_.end();
  }

  void write_live(const WalkedBlock& block) {
    tree_.begin_dictionary();
    write_segment_head(block.place.device, block.address, block.bytes);
    tree_.field("allocated_size", block.bytes);
    tree_.field("active_size", block.bytes);
    tree_.field("requested_size", block.bytes);
    tree_.field("segment_type", "large");
    tree_.key("is_expandable");
    tree_.boolean(false);
    tree_.key("blocks");
    tree_.begin_list();
    write_block(block.address, block.bytes, block.bytes, "active_allocated",
                static_cast<std::int64_t>(exported_.site_of(block.tag)));
    tree_.end();
    tree_.end();
  }

  const Exported& exported_;
  TreeWriter& tree_;
  NamedStacks stacks_;
};

}  // namespace

std::string no_segments(const Exported& exported) {
  const std::size_t processes = exported.report().processes.size();
  if (processes < 2) return "";
  return "it is made of segments, which a report merged of " + std::to_string(processes) +
         " processes does not have; export the report of one of them";
}

// A report's are those segments that there were at its end.
bool is_in_memory_viz(const Exported& exported, const KindFacts& kind) {
  if (!shows(kind.kind) || exported.names() != nullptr) return shows(kind.kind);
  if (kind.current_bytes == 0) return true;
  for (const DeviceReport& device : exported.report().devices) {
    for (const SegmentFacts& segment : device.segments) {
      if (segment.kind == kind.kind && segment.device == kind.device) return true;
    }
  }
  return false;
}

std::string write_memory_viz(const Exported& exported, Output& output) {
  PickleWriter tree(output);
  return MemorySnapshot(exported, tree).write();
}

std::string write_memory_viz_json(const Exported& exported, Output& output) {
  JsonTreeWriter tree(output);
  return MemorySnapshot(exported, tree).write();
}

// Of a trace each allocation is five events at most, each with the whole call stack.
std::uint64_t most_bytes_of_memory_viz_json(const Exported& exported) {
  constexpr std::uint64_t kEvents = 5;
  constexpr std::uint64_t kOfEvent = 130;  // bytes beside the frames
  constexpr std::uint64_t kOfFrame = 40;   // beside its names
  if (exported.names() == nullptr) return 0;
  NamedStacks stacks(exported);
  std::uint64_t bytes = 0;
  for (const LeakUsage& usage : exported.usage()) {
    if (!has_device(usage.kind) || !holds_memory(usage.kind)) continue;
    std::uint64_t of_event = kOfEvent;
    for (const std::uint32_t index : stacks.stack(usage.site)) {
      const NamedFrame& frame = stacks.frame(index);
      of_event += kOfFrame + frame.function.size() +
                  (frame.file.empty() ? frame.module : frame.file).size();
    }
    bytes += usage.totals.total_count * kEvents * of_event;
  }
  return bytes;
}

}  // namespace vramscope
