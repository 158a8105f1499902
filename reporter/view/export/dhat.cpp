// DHAT's JSON, version 2, as its viewer opens it: what each stack allocated, held at the peak and
// at the end, and for how long. Time is microseconds.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "reporter/report/json_writer.h"
#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"

namespace vramscope {
namespace {

// What the viewer wants of a stack and no report tells exactly.
struct Life {
  std::uint64_t total_us = 0;  // of all its blocks, those that live at the end included
  std::uint64_t held = 0, held_count = 0;
  std::uint64_t most = 0, most_count = 0;  // that it ever held
};
using Key = std::tuple<std::size_t, Kind, std::uint16_t>;
using Lives = std::map<Key, Life>;

constexpr std::uint64_t kMicrosecond = 1000;

std::string lives_of_trace(const Exported& exported, Lives& lives) {
  const auto life_of = [&](const WalkedBlock& block) -> Life& {
    return lives[{exported.site_of(block.tag), block.place.kind, block.place.device}];
  };
  TraceWalk walk([&](const WalkedBlock& block, const auto&, std::uint64_t now_ns, bool came) {
    Life& life = life_of(block);
    life.held += came ? block.bytes : 0 - block.bytes;
    life.held_count += came ? 1 : -1;
    if (!came) life.total_us += (now_ns - block.born_at_ns) / kMicrosecond;
    if (life.held <= life.most) return;
    life.most = life.held;
    life.most_count = life.held_count;
  });
  std::string problem = exported.follow(walk);
  for (const WalkedBlock& block : walk.live()) {
    const std::uint64_t end = std::max(exported.report().timeline.duration_ns, block.born_at_ns);
    life_of(block).total_us += (end - block.born_at_ns) / kMicrosecond;
  }
  return problem;
}

// Lives are counted by decades, from under a microsecond on: three of a decade stands for each.
// What lives at the end is taken to have lived for half of the run.
Life life_of_report(const Report& report, const LeakUsage& usage) {
  const Site& site = report.sites[usage.site];
  std::uint64_t total = 0;
  std::uint64_t count = 0;
  std::uint64_t decade = 1;
  for (const std::uint64_t lives : site.lifetimes) {
    total += lives * decade * 3 / 10;
    count += lives;
    decade *= 10;
  }
  const SiteTotals& totals = usage.totals;  // which may be estimates
  const std::uint64_t freed = totals.total_count - std::min(totals.total_count, totals.live_count);
  Life life;
  life.total_us = count == 0 ? 0 : total / count * freed;
  life.total_us += totals.live_count * (report.timeline.duration_ns / kMicrosecond / 2);
  life.most = std::max(totals.peak_bytes, totals.live_bytes);
  life.most_count = std::max(totals.peak_count, totals.live_count);
  return life;
}

std::string field(const char* name, std::uint64_t value) {
  return std::string("\"") + name + "\":" + std::to_string(value) + ",";
}

// What the viewer shows of a stack, or of the part of it that somebody keeps.
struct Point {
  std::uint64_t total = 0, total_count = 0;
  Life life;
  std::uint64_t peak = 0, peak_count = 0;
  std::uint64_t end = 0, end_count = 0;
};

std::uint64_t take(std::uint64_t& from, std::uint64_t most) {
  const std::uint64_t taken = std::min(from, most);
  from -= taken;
  return taken;
}

// What is kept leaves the point of its stack, which is of the rest then. All of it is taken to have
// been there at the peak, as far as the stack held so much, and to have lived for half of the run.
Point take_kept(Point& from, const KeptUsage& kept, std::uint64_t run_us) {
  Point point;
  point.life.total_us = take(from.life.total_us, kept.count * (run_us / 2));
  point.life.most = take(from.life.most, kept.bytes);
  point.life.most_count = take(from.life.most_count, kept.count);
  point.total = take(from.total, kept.bytes);
  point.total_count = take(from.total_count, kept.count);
  point.peak = take(from.peak, kept.bytes);
  point.peak_count = take(from.peak_count, from.peak == 0 ? UINT64_MAX : kept.count);
  point.end = take(from.end, kept.bytes);
  point.end_count = take(from.end_count, kept.count);
  return point;
}

Point point_of(const LeakUsage& usage, const Life& life) {
  const SiteTotals& totals = usage.totals;
  return {.total = totals.total_bytes,
          .total_count = totals.total_count,
          .life = life,
          .peak = totals.peak_bytes,
          .peak_count = totals.peak_count,
          .end = usage.never_freed_bytes,
          .end_count = usage.never_freed_count};
}

void write_point(const Point& point, const std::string& frames, bool is_first, Output& output) {
  output << (is_first ? "\n{" : ",\n{") << field("tb", point.total)
         << field("tbk", point.total_count) << field("tl", point.life.total_us)
         << field("mb", std::max(point.life.most, point.peak))
         << field("mbk", std::max(point.life.most_count, point.peak_count))
         << field("gb", point.peak) << field("gbk", point.peak_count) << field("eb", point.end)
         << field("ebk", point.end_count) << "\"fs\":[" << frames << "]}";
}

// The first is the root, the kinds of memory are the next.
class Frames {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [known, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return known->second;
  }
  void write(Output& output) const {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      output << (i == 0 ? "\n" : ",\n") << json_string(texts_[i]);
    }
  }

 private:
  std::vector<std::string> texts_{"[root]"};
  std::map<std::string, std::size_t> numbers_;
};

// Behind the stack who keeps it, and its memory.
std::string frames_of(const Report& report, const LeakUsage& usage, const std::string& holder,
                      NamedStacks& stacks, Frames& frames) {
  std::string result;
  for (const std::uint32_t index : stacks.stack(usage.site)) {
    result += std::to_string(frames.number_of(text(stacks.frame(index)))) + ",";
  }
  if (!holder.empty()) result += std::to_string(frames.number_of(holder)) + ",";
  return result + std::to_string(frames.number_of(memory_name(report, usage.kind, usage.device)));
}

}  // namespace

std::string write_dhat(const Exported& exported, Output& output) {
  const Report& report = exported.report();
  Lives lives;
  std::string problem;
  if (exported.names() != nullptr) problem = lives_of_trace(exported, lives);
  const KindFacts* highest = exported.highest();
  const std::uint64_t run_us = report.timeline.duration_ns / kMicrosecond;
  output << "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\n\"bklt\":true,"
            "\"bkacc\":false,\"tu\":\"us\",\"Mtu\":\"s\",\"tuth\":10,\n\"cmd\":"
         << json_string(command_of(report)) << ",\n"
         << field("pid", static_cast<std::uint64_t>(report.process.pid)) << field("te", run_us)
         << field("tg", highest == nullptr ? 0 : highest->peak_ns / kMicrosecond) << "\n\"pps\":[";
  NamedStacks stacks(exported);
  Frames frames;
  bool is_first = true;
  for (const LeakUsage& usage : exported.usage()) {
    if (usage.totals.total_count == 0) continue;
    const auto life = lives.find({usage.site, usage.kind, usage.device});
    Point point =
        point_of(usage, life == lives.end() ? life_of_report(report, usage) : life->second);
    for (const KeptUsage& kept : usage.kept) {
      write_point(take_kept(point, kept, run_us),
                  frames_of(report, usage, held_by(kept), stacks, frames), is_first, output);
      is_first = false;
    }
    if (point.total_count == 0) continue;
    write_point(point, frames_of(report, usage, "", stacks, frames), is_first, output);
    is_first = false;
  }
  output << "],\n\"ftbl\":[";
  frames.write(output);
  output << "]}\n";
  return problem;
}

}  // namespace vramscope
