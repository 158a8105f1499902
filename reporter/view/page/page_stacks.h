// PageStacks is the call stacks of a page as one tree, in which each name is stored once.
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
  // Returns the node of the stack's innermost frame. The path leads from the root, 0, through the
  // callers to the CUDA function that was called.
  std::uint32_t add(const CallSite& site);
  // Sets the other frames with which the line of a row at that node begins.
  void set_line(std::uint32_t node, const CallSite& line);

  // Writes the fields "strings", "frames" (function, the same with types, place, path and module,
  // as indices of strings; the sort: 0 native, 1 Python, 2 CUDA; whether rows leave it out),
  // "nodes" (parent and frame of each node except the root) and "lines" (the nodes that the rows of
  // a node show) into an object.
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
  std::vector<std::pair<std::uint32_t, std::uint32_t>> nodes_;  // of nodes 1, 2, ...: parent, frame
  std::map<std::uint32_t, std::uint32_t> lines_;                // by node
};

}  // namespace vramscope
