// SiteList gives access to the sites of a report that are not all in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace vramscope {

struct Site;

// Threads: one. at() may throw whatever reading a site throws.
class SiteList {
 public:
  virtual ~SiteList() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Site at(std::size_t index) const = 0;  // index: below size()

 protected:
  SiteList() = default;
  SiteList(const SiteList&) = default;
  SiteList& operator=(const SiteList&) = default;
};

}  // namespace vramscope
