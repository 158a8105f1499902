// PageStacks is the call stacks of a page as one tree, in which each name stands once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporter/view/analysis/stacks/frames.h"
#include "reporter/view/listing/json_text.h"

namespace vramscope {

// Threads: one. May throw bad_alloc.
class PageStacks {
 public:
  // The node of the stack's innermost frame: from the root, 0, down through its callers to the
  // function of CUDA that it called.
  std::uint32_t add(const CallSite& site);
  // The line of a row at that node begins with other frames.
  void set_line(std::uint32_t node, const CallSite& line);

  // The fields "strings", "frames" (each function, the same with types, place, path and module, as
  // indices of strings, its sort: 0 native, 1 Python, 2 CUDA, and whether rows leave it out),
  // "nodes" (of each but the root its parent and its frame) and "lines" (of nodes those that their
  // rows show), into an object.
  void write(JsonText& json) const;

 private:
  enum class Sort : std::uint32_t { native, python, cuda };
  using Frame = std::array<std::uint32_t, 7>;
  std::uint32_t number_of(const std::string& text);
  std::uint32_t frame_of(const Caller& caller, Sort sort, bool is_folded = false);
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);

  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> strings_;
  std::map<Frame, std::uint32_t> frame_numbers_;
  std::vector<Frame> frames_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> children_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes_;  // of 1, 2, ...: parent, frame
  std::map<std::uint32_t, std::uint32_t> lines_;                // by node
};

}  // namespace vramscope
