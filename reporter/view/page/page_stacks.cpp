// Interns names, frames and the nodes of the tree.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/page/page_stacks.h"

#include "reporter/report/symbols.h"
#include "reporter/view/analysis/stacks/inner_frames.h"
#include "reporter/view/listing/caller_names.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

// Both ends of longer names and paths are kept: a page is to stay small.
constexpr std::size_t kMostOfFrame = 500;

}  // namespace

std::uint32_t PageStacks::number_of(const std::string& text) {
  const auto next = static_cast<std::uint32_t>(strings_.size());
  const auto [found, is_new] = numbers_.try_emplace(shortened(harmless(text), kMostOfFrame), next);
  if (is_new) strings_.push_back(&found->first);
  return found->second;
}

std::uint32_t PageStacks::frame_of(const Caller& caller, Sort sort, bool is_folded) {
  const Frame frame{number_of(shorten(caller.function) + times_text(caller)),
                    number_of(caller.full),
                    number_of(caller.place),
                    number_of(caller.path),
                    number_of(caller.module),
                    static_cast<std::uint32_t>(sort),
                    is_folded ? 1U : 0U};
  const auto next = static_cast<std::uint32_t>(frames_.size());
  const auto [found, is_new] = frame_numbers_.try_emplace(frame, next);
  if (is_new) frames_.push_back(frame);
  return found->second;
}

std::uint32_t PageStacks::child(std::uint32_t parent, std::uint32_t frame) {
  const auto next = static_cast<std::uint32_t>(nodes_.size() + 1);
  const auto [found, is_new] = children_.try_emplace({parent, frame}, next);
  if (is_new) nodes_.emplace_back(parent, frame);
  return found->second;
}

std::uint32_t PageStacks::add(const CallSite& site) {
  std::uint32_t node = 0;
  std::vector<FrameSort> sorts;
  for (const Caller& caller : site.callers) sorts.push_back(sort_of(caller));
  for (std::size_t i = site.callers.size(); i-- != 0;) {
    const Sort sort = sorts[i].is_python ? Sort::python : Sort::native;
    node = child(node, frame_of(site.callers[i], sort, is_folded(sorts, i)));
  }
  if (site.callers.empty())
    node = child(node, frame_of({.function = "unknown", .place = ""}, Sort::native));
  if (site.entry.empty()) return node;
  return child(node, frame_of({.function = site.entry, .place = ""}, Sort::cuda));
}

void PageStacks::set_line(std::uint32_t node, const CallSite& line) {
  const std::uint32_t shown = add(line);
  if (shown != node) lines_[node] = shown;
}

void PageStacks::write(JsonText& json) const {
  json.key("strings").array();
  for (const std::string* text : strings_) json.value(*text);
  json.end().key("frames").array();
  for (const Frame& frame : frames_) {
    json.array();
    for (const std::uint32_t number : frame) json.value(number);
    json.end();
  }
  json.end().key("nodes").array();
  for (const auto& [parent, frame] : nodes_) json.value(parent).value(frame);
  json.end().key("lines").array();
  for (const auto& [node, line] : lines_) json.value(node).value(line);
  json.end();
}

}  // namespace vramscope
