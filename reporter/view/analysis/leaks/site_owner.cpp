// Asks the table of well-known libraries about the objects of a stack.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/site_owner.h"

#include <algorithm>
#include <map>

#include "reporter/record/stack/owners.h"
#include "reporter/view/analysis/site_usage.h"

namespace vramscope {
namespace {

// Whether the object was started; of a merged report by one of its processes.
bool is_program(const Report& report, const std::string& path) {
  return path == report.process.executable ||
         std::any_of(report.processes.begin(), report.processes.end(),
                     [&](const MergedProcess& one) { return path == one.process.executable; });
}

// Whether the owner is certain now.
bool add(StackOwner& owner, const Report& report, const FrameFact& frame) {
  if (frame.code < report.codes.size()) {
    const std::uint32_t source = report.codes[frame.code].source;
    const bool is_native = source >= report.sources.size() || report.sources[source].path.empty();
    return !is_native && owner.add_python(report.sources[source].path);
  }
  if (frame.module >= report.modules.size()) return false;
  const std::string& path = report.modules[frame.module].path;
  return owner.add_object(path, is_program(report, path));
}

}  // namespace

std::string owner_of_frame(const Report& report, std::uint32_t frame) {
  const std::uint32_t module = report.frames[frame].module;
  if (module >= report.modules.size()) return std::string(kUnknownOwner);
  const std::string& path = report.modules[module].path;
  return owner_of(path, is_program(report, path));
}

std::string owner_of_stack(const Report& report, const std::vector<std::uint32_t>& frames) {
  StackOwner owner;
  for (const std::uint32_t frame : frames) {
    if (frame < report.frames.size() && add(owner, report, report.frames[frame])) break;
  }
  return owner.name();
}

std::string owner_of_site(const Report& report, const Site& site) {
  if (site.whole.empty()) return owner_of_stack(report, site.frames);
  std::map<std::string, std::uint64_t> bytes;
  for (const RecordedStack& stack : site.whole) {
    std::uint64_t& of_owner = bytes[owner_of_stack(report, stack.frames)];
    for (const SitePart& part : stack.parts) of_owner += part.totals.total_bytes;
  }
  return std::max_element(bytes.begin(), bytes.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::vector<OwnerPart> owner_parts(const Report& report, const Share& share,
                                   const NumbersOfTotals& numbers) {
  const Site& site = report.sites[share.site];
  if (site.whole.size() < 2) {
    return {{owner_of_stack(report, first_stack(site)), share.bytes, share.count}};
  }
  std::vector<OwnerPart> parts;
  OwnerPart rest{.owner = {}, .bytes = share.bytes, .count = share.count};
  for (const RecordedStack& stack : site.whole) {
    const SitePart* const part = part_of(stack.parts, share.kind, share.device);
    if (part == nullptr) continue;
    const auto [bytes, count] = numbers(numbers_of(*part));
    OwnerPart& its = parts.emplace_back(OwnerPart{.owner = owner_of_stack(report, stack.frames)});
    its.bytes = std::min(bytes, rest.bytes);
    its.count = std::min(count, rest.count);
    rest.bytes -= its.bytes;
    rest.count -= its.count;
  }
  if (parts.empty()) return {{std::string(kUnknownOwner), share.bytes, share.count}};
  parts.back().bytes += rest.bytes;
  parts.back().count += rest.count;
  return parts;
}

std::vector<JointStack> joint_stacks(const Report& report, const JointPeak& joint) {
  if (!joint.stacks.empty()) return joint.stacks;
  std::vector<JointStack> stacks;
  for (const OomShare& share : joint.shares) {
    if (share.site < 0) continue;
    const Site& site = report.sites[static_cast<std::size_t>(share.site)];
    const SitePart* const part = part_of(site.parts, share.kind, joint.facts.device);
    JointStack& stack = stacks.emplace_back();
    stack.frames = first_stack(site);
    stack.part = part != nullptr ? *part : SitePart{.kind = share.kind, .totals = {}};
    stack.live_bytes = share.live_bytes;
  }
  return stacks;
}

std::vector<std::pair<std::string, std::uint64_t>> owners_of(const Report& report,
                                                             const JointPeak& joint) {
  std::map<std::string, std::uint64_t> bytes;
  for (const JointStack& stack : joint_stacks(report, joint)) {
    bytes[owner_of_stack(report, stack.frames)] += stack.live_bytes;
  }
  std::vector<std::pair<std::string, std::uint64_t>> owners(bytes.begin(), bytes.end());
  std::stable_sort(owners.begin(), owners.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return owners;
}

}  // namespace vramscope
