// SitePlaces is where each site of a report allocated, as a row of a listing has it, and whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/export/exported.h"

namespace vramscope {

// Text is harmless, and without the frames of CUDA's libraries. Threads: one. May throw bad_alloc.
class SitePlaces {
 public:
  explicit SitePlaces(const Exported& exported);

  // "allocate (gpu.py:15) < load (train.py:9) < main (train.py:30) < ..": the innermost frames,
  // three of them, or as many up to eight as it takes to tell the site from all others.
  [[nodiscard]] std::string row(std::size_t site) const;
  // All frames.
  [[nodiscard]] std::string whole(std::size_t site) const;

 private:
  using Stack = std::vector<std::uint32_t>;  // indices of frames_, innermost first
  [[nodiscard]] std::string text(const Stack& stack, std::size_t most) const;

  std::vector<std::string> frames_;
  std::vector<Stack> stacks_;          // by site
  std::vector<std::size_t> in_a_row_;  // by site: how many frames tell it apart
};

}  // namespace vramscope
