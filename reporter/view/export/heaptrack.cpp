// heaptrack's interpreted text, format 3: strings, places, stacks and allocations as numbered lines
// in hexadecimal, each before its first use, then what came and went.
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <unordered_map>

#include "reporter/report/memory_name.h"
#include "reporter/view/analysis/replay/trace_walk.h"
#include "reporter/view/export/formats.h"
#include "reporter/view/export/named_stacks.h"

namespace vramscope {
namespace {

// Numbers begin with 1 but for allocations; 0 is none.
class Lines {
 public:
  Lines(const Exported& exported, Output& output)
      : exported_(exported), output_(output), stacks_(exported), holders_(exported) {
    output_ << "v 10400 3\nX " << command_of(exported.report()) << "\nI 1000 0\n";
    if (!holders_.are_none()) output_ << "S leak:held by \n";
  }

  void time(std::uint64_t ns) {
    const std::uint64_t ms = ns / 1'000'000;
    if (ms == ms_ && !is_first_) return;
    ms_ = ms;
    is_first_ = false;
    output_ << "c " << hexadecimal(ms) << "\n";
  }

  void change(const char* sign, const WalkedBlock& block) {
    const std::uint64_t number = allocation(block);
    output_ << sign << hexadecimal(number) << "\n";
  }

 private:
  using Memory = std::pair<Kind, std::uint16_t>;

  std::uint64_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto [known, is_new] = strings_.try_emplace(text, strings_.size() + 1);
    if (is_new) output_ << "s " << hexadecimal(text.size()) << " " << text << "\n";
    return known->second;
  }

  std::uint64_t place(const NamedFrame& frame) {
    const std::uint64_t module = string(frame.module.empty() ? "python" : frame.module);
    const std::uint64_t function = string(frame.function);
    const std::uint64_t file = string(frame.file);
    output_ << "i " << hexadecimal(places_ + 1) << " " << hexadecimal(module) << " "
            << hexadecimal(function);
    if (file != 0)
      output_ << " " << hexadecimal(file) << " " << hexadecimal(static_cast<unsigned>(frame.line));
    output_ << "\n";
    return ++places_;
  }

  std::uint64_t stack_of(std::uint64_t place, std::uint64_t caller) {
    const auto [known, is_new] = steps_.try_emplace({place, caller}, steps_.size() + 1);
    if (is_new) output_ << "t " << hexadecimal(place) << " " << hexadecimal(caller) << "\n";
    return known->second;
  }

  // The kind of memory is the outermost frame; within it who holds what was never freed, which the
  // suppression at the head of the file takes for no leak.
  std::uint64_t stack_of(std::size_t site, Memory memory) {
    std::uint64_t& root = roots_[memory];
    if (root == 0) {
      root = place({.function = memory_name(exported_.report(), memory.first, memory.second),
                    .file = "",
                    .module = "memory"});
    }
    std::uint64_t stack = stack_of(root, 0);
    if (const std::string& holder = holders_.of(site, memory.first, memory.second);
        !holder.empty()) {
      std::uint64_t& known = by_holder_[holder];
      if (known == 0)
        known = place({.function = held_by({.holder = holder}), .file = "", .module = "memory"});
      stack = stack_of(known, stack);
    }
    const NamedStacks::Stack& frames = stacks_.stack(site);
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      std::uint64_t& known = by_frame_[*frame];
      if (known == 0) known = place(stacks_.frame(*frame));
      stack = stack_of(known, stack);
    }
    return stack;
  }

  std::uint64_t allocation(const WalkedBlock& block) {
    const Memory memory{block.place.kind, block.place.device};
    const std::size_t site = exported_.site_of(block.tag);
    std::uint64_t& stack = stacks_of_sites_[{site, memory}];
    if (stack == 0) stack = stack_of(site, memory);
    const auto [known, is_new] =
        allocations_.try_emplace({block.bytes, stack}, allocations_.size());
    if (is_new) output_ << "a " << hexadecimal(block.bytes) << " " << hexadecimal(stack) << "\n";
    return known->second;
  }

  const Exported& exported_;
  Output& output_;
  NamedStacks stacks_;
  const Holders holders_;
  std::map<std::string, std::uint64_t> by_holder_;
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> steps_;
  std::map<Memory, std::uint64_t> roots_;
  std::unordered_map<std::uint32_t, std::uint64_t> by_frame_;
  std::map<std::pair<std::size_t, Memory>, std::uint64_t> stacks_of_sites_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> allocations_;
  std::uint64_t places_ = 0;
  std::uint64_t ms_ = 0;
  bool is_first_ = true;
};

}  // namespace

std::string write_heaptrack(const Exported& exported, Output& output) {
  Lines lines(exported, output);
  TraceWalk walk([&](const WalkedBlock& block, const auto&, std::uint64_t now_ns, bool came) {
    lines.time(now_ns);
    lines.change(came ? "+ " : "- ", block);
  });
  const std::string problem = exported.follow(walk);
  lines.time(exported.report().timeline.duration_ns);
  return problem;
}

}  // namespace vramscope
