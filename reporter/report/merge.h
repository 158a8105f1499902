// Merger adds reports of several processes up to one report, a report at a time. FORMAT.md says of
// each field what becomes of it ("Merged reports").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace vramscope {

struct Report;
class SiteList;

// What it makes depends only on which reports were added, not on their order, nor on which of them
// had been merged before; but for rows of a GPU to which its processes give different numbers,
// where there are more GPUs than kMaxDevices. Sites that take more memory than that are put aside
// in scratch files, so it follows from the distinct frames, and a little from the number of sites.
// Threads: one. All may throw bad_alloc, and system_error where a scratch file fails.
class Merger {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20;
  explicit Merger(std::uint64_t most_bytes = kMostBytes);
  ~Merger();
  Merger(Merger&&) noexcept;
  Merger& operator=(Merger&&) noexcept;

  // One that was merged counts as those that it was made of. Its lists may be taken.
  void add(Report&& report);
  // Of all that was added. Call one of them, once.
  [[nodiscard]] Report finish();
  [[nodiscard]] Report finish_but_sites();
  // Those, in their order, as long as the merger lives.
  [[nodiscard]] const SiteList& sites() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vramscope
