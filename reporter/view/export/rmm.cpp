// RMM's log of allocations as CSV, which its replay benchmark plays: memory of devices in the order
// in which it came and went.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cinttypes>
#include <cstdio>

#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/export/formats.h"

namespace vramscope {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// "HH:MM:SS:microseconds", of the day in UTC.
std::string time_of_day(std::uint64_t ns_since_epoch) {
  const std::uint64_t seconds = ns_since_epoch / kSecond;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%02u:%02u:%02u:%06u",
                static_cast<unsigned>(seconds / 3600 % 24),
                static_cast<unsigned>(seconds / 60 % 60), static_cast<unsigned>(seconds % 60),
                static_cast<unsigned>(ns_since_epoch % kSecond / 1000));
  return text.data();
}

bool has_line(Kind kind) { return has_device(kind) && space_of(kind) == Space::memory; }

}  // namespace

bool is_in_rmm(const Exported&, const KindFacts& kind) { return has_line(kind.kind); }

std::string write_rmm(const Exported& exported, Output& output) {
  output << "Thread,Time,Action,Pointer,Size,Stream\n";
  const std::uint64_t start = exported.report().timeline.start_ns;
  const auto& threads = exported.names()->facts.threads;
  TraceWalk walk([&](const WalkedBlock& block, const FollowedEvent& now, std::uint64_t now_ns,
                     bool came) {
    if (!has_line(block.place.kind)) return;
    const std::int64_t thread = now.one.thread < threads.size() ? threads[now.one.thread].id : 0;
    std::array<char, 96> rest{};
    std::snprintf(rest.data(), rest.size(), ",%s,0x%" PRIx64 ",%" PRIu64 ",0\n",
                  came ? "allocate" : "free", block.address, block.bytes);
    output << std::to_string(thread) << "," << time_of_day(start + now_ns) << rest.data();
  });
  return exported.follow(walk);
}

}  // namespace vramscope
