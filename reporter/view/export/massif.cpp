// massif's text: how much there was over time, of the kind of memory and device that held the most,
// and who held it at the peak.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/analysis/subject.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kSnapshots = 100;     // as massif has them
constexpr std::uint64_t kLeastShare = 100;  // of the whole; smaller ones are one line, as in massif
constexpr std::size_t kDeepest = 100;

struct Moment {
  std::uint64_t ns = 0;
  std::uint64_t bytes = 0;
  bool is_peak = false;
};

// Of a report: the most in each part of its timeline.
std::vector<Moment> snapshots_of_report(const Report& report, const KindFacts& kind) {
  std::vector<Moment> result;
  for (const TimelineSeries& series : report.timeline.series) {
    if (series.kind != kind.kind || series.device != kind.device) continue;
    const std::size_t step = series.highest.size() / kSnapshots + 1;
    for (std::size_t i = 0; i < series.highest.size(); i += step) {
      const std::size_t end = std::min(i + step, series.highest.size());
      result.push_back(
          {.ns = i * series.bucket_ns,
           .bytes = *std::max_element(series.highest.begin() + static_cast<long>(i),
                                      series.highest.begin() + static_cast<long>(end))});
    }
  }
  return result;
}

// Of a trace: the most in each hundredth of it.
std::string snapshots_of_trace(const Exported& exported, const KindFacts& kind,
                               std::vector<Moment>& snapshots) {
  const std::uint64_t part = exported.report().timeline.duration_ns / kSnapshots + 1;
  std::uint64_t held = 0;
  TraceWalk walk([&](const WalkedBlock& block, const auto&, std::uint64_t now_ns, bool came) {
    if (block.place.kind != kind.kind || block.place.device != kind.device) return;
    const std::uint64_t before = held;
    held = came ? held + block.bytes : held - block.bytes;
    const std::uint64_t start = now_ns / part * part;
    if (snapshots.empty() || snapshots.back().ns != start) {
      snapshots.push_back({.ns = start, .bytes = before});
    }
    snapshots.back().bytes = std::max(snapshots.back().bytes, held);
  });
  std::string problem = exported.follow(walk);
  snapshots.push_back({.ns = exported.report().timeline.duration_ns, .bytes = held});
  return problem;
}

struct Held {
  std::uint64_t bytes = 0;
  const NamedStacks::Stack* stack = nullptr;
};
using Helds = std::vector<Held>;

class Tree {
 public:
  Tree(NamedStacks& stacks, std::uint64_t whole, Output& output)
      : stacks_(stacks), whole_(whole), output_(output) {}

  // Those that share the frames above `depth`, of which `title` names the last.
  void add(const Helds& helds, std::size_t depth, const std::string& title) {
    std::uint64_t bytes = 0;
    std::map<std::uint32_t, Helds> callers;
    for (const Held& held : helds) {
      bytes += held.bytes;
      if (depth < held.stack->size() && depth < kDeepest) {
        callers[(*held.stack)[depth]].push_back(held);
      }
    }
    std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
    std::uint64_t few_bytes = 0;
    std::size_t few = 0;
    for (const auto& [frame, those] : callers) {
      const std::uint64_t sum = sum_of(those);
      if (sum >= whole_ / kLeastShare) {
        order.emplace_back(sum, frame);
      } else {
        few_bytes += sum;
        ++few;
      }
    }
    std::sort(order.rbegin(), order.rend());
    line(depth, order.size() + (few == 0 ? 0 : 1), bytes, title);
    for (const auto& [sum, frame] : order) {
      add(callers[frame], depth + 1, name_of(frame));
    }
    if (few == 0) return;
    line(depth + 1, 0, few_bytes,
         "in " + std::to_string(few) + " place" + (few == 1 ? "" : "s") + ", " +
             (few == 1 ? "" : "all ") + "below massif's threshold (1.00%)");
  }

 private:
  static std::uint64_t sum_of(const Helds& helds) {
    std::uint64_t sum = 0;
    for (const Held& held : helds) sum += held.bytes;
    return sum;
  }
  [[nodiscard]] std::string name_of(std::uint32_t index) const {
    const NamedFrame& frame = stacks_.frame(index);
    std::array<char, 24> address{};
    std::snprintf(address.data(), address.size(), "0x%" PRIX64 ": ", frame.offset);
    return address.data() + text(frame);
  }
  void line(std::size_t depth, std::size_t children, std::uint64_t bytes,
            const std::string& title) {
    output_ << std::string(depth, ' ') << "n" << std::to_string(children) << ": "
            << std::to_string(bytes) << " " << title << "\n";
  }

  NamedStacks& stacks_;
  std::uint64_t whole_;
  Output& output_;
};

void write_tree(const Exported& exported, const KindFacts& kind, Output& output) {
  NamedStacks stacks(exported);
  Helds helds;
  for (const LeakUsage& usage : exported.usage()) {
    if (usage.kind != kind.kind || usage.device != kind.device || usage.totals.peak_bytes == 0)
      continue;
    helds.push_back({.bytes = usage.totals.peak_bytes, .stack = &stacks.stack(usage.site)});
  }
  Tree(stacks, kind.peak_bytes, output)
      .add(helds, 0,
           "(requested of " + memory_name(exported.report(), kind.kind, kind.device) + ")");
}

}  // namespace

bool is_in_massif(const Exported& exported, const KindFacts& kind) {
  const KindFacts* const shown = exported.highest();
  return shown != nullptr && kind.kind == shown->kind && kind.device == shown->device;
}

std::string write_massif(const Exported& exported, Output& output) {
  const KindFacts* kind = exported.highest();
  if (kind == nullptr) return "massif shows one kind of memory, and the report has none";
  std::vector<Moment> snapshots;
  std::string problem;
  if (exported.names() == nullptr) {
    snapshots = snapshots_of_report(exported.report(), *kind);
  } else {
    problem = snapshots_of_trace(exported, *kind, snapshots);
  }
  snapshots.push_back({.ns = kind->peak_ns, .bytes = kind->peak_bytes, .is_peak = true});
  std::stable_sort(snapshots.begin(), snapshots.end(),
                   [](const Moment& a, const Moment& b) { return a.ns < b.ns; });
  output << "desc: vramscope " << VRAMSCOPE_VERSION << ", bytes requested of "
         << memory_name(exported.report(), kind->kind, kind->device)
         << (is_of_several(exported.report()) ? ", at the peak the sum of all processes' own peaks"
                                              : "")
         << "\ncmd: " << command_of(exported.report()) << "\ntime_unit: ms\n";
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const Moment& one = snapshots[i];
    output << "#-----------\nsnapshot=" << std::to_string(i)
           << "\n#-----------\ntime=" << std::to_string(one.ns / 1'000'000)
           << "\nmem_heap_B=" << std::to_string(one.bytes)
           << "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=" << (one.is_peak ? "peak" : "empty")
           << "\n";
    if (one.is_peak) write_tree(exported, *kind, output);
  }
  return problem;
}

}  // namespace vramscope
