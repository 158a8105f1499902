// Merger adds the reports of several processes up to one report, one report at a time. FORMAT.md
// says how each field is merged ("Merged reports").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace vramscope {

struct Report;
class SiteList;

// The result depends only on which reports were added, not on their order, nor on which of them
// were merged before. The exception is rows of a GPU to which its processes give different numbers,
// if there are more GPUs than kMaxDevices. Sites and processes that take more memory than
// most_bytes are put aside in scratch files, so memory depends on the number of distinct frames and
// a little on the number of sites and processes. Threads: one. All functions may throw bad_alloc,
// and system_error if a scratch file fails.
class Merger {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{32} << 20;
  explicit Merger(std::uint64_t most_bytes = kMostBytes);
  ~Merger();
  Merger(Merger&&) noexcept;
  Merger& operator=(Merger&&) noexcept;

  // Adds a report. A merged report counts as the reports that it was made from. Its lists may be
  // moved out.
  void add(Report&& report);
  // Returns the sum of all reports. Call one of the two functions, once.
  // finish_but_lists() leaves out the sites, and most of what is known of each process.
  [[nodiscard]] Report finish();
  [[nodiscard]] Report finish_but_lists();
  // Returns the sites and the processes in their order, after finish_but_lists(). The lists are
  // valid as long as the merger.
  [[nodiscard]] const SiteList& lists() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace vramscope
