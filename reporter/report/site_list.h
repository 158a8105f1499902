// SiteList and ProcessList give access to the lists of a report that are not all in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vramscope {

struct MergedProcess;
struct Site;

// Threads: one. at() may throw whatever reading a process throws.
class ProcessList {
 public:
  virtual ~ProcessList() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual MergedProcess at(std::size_t index) const = 0;  // index: below size()

 protected:
  ProcessList() = default;
  ProcessList(const ProcessList&) = default;
  ProcessList& operator=(const ProcessList&) = default;
};

// Threads: one. at() may throw whatever reading a site throws.
class SiteList {
 public:
  virtual ~SiteList() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Site at(std::size_t index) const = 0;  // index: below size()
  // Returns the processes that belong to the same report, or nullptr if the report has its own.
  [[nodiscard]] virtual const ProcessList* processes() const { return nullptr; }

 protected:
  SiteList() = default;
  SiteList(const SiteList&) = default;
  SiteList& operator=(const SiteList&) = default;
};

}  // namespace vramscope
