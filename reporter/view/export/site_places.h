// SitePlaces has the stack of each site of a report, shortened as in a row of a listing, and whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/export/exported.h"

namespace vramscope {

// Text is sanitized, and without the frames of CUDA's libraries. Threads: one. May throw bad_alloc.
class SitePlaces {
 public:
  explicit SitePlaces(const Exported& exported);

  // Returns "allocate (gpu.py:15) < load (train.py:9) < main (train.py:30) < ..": the three
  // innermost frames, or up to eight if they are needed to distinguish the site from all others.
  [[nodiscard]] std::string row(std::size_t site) const;
  // Returns all frames.
  [[nodiscard]] std::string whole(std::size_t site) const;

 private:
  using Stack = std::vector<std::uint32_t>;  // indices of frames_, innermost first
  [[nodiscard]] std::string text(const Stack& stack, std::size_t most) const;

  std::vector<std::string> frames_;
  std::vector<Stack> stacks_;          // by site
  std::vector<std::size_t> in_a_row_;  // by site: the number of frames that distinguish it
};

}  // namespace vramscope
