// Assembly makes a report of its parts: what the allocator counted by tag becomes sites, axes,
// kinds and the ledger.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "reporter/report/assembled_sites.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"

namespace vramscope {

// Threads: one.
class Assembly {
 public:
  // May throw bad_alloc.
  explicit Assembly(ReportParts parts);

  // Without its sites, which sites() has. What is moved from it is gone.
  [[nodiscard]] Report& report() { return report_; }
  [[nodiscard]] const SiteList& sites() const { return sites_; }

 private:
  void describe_memory();
  void describe_rest();

  const std::unique_ptr<ReportParts> parts_;  // of which the sites are made
  AssembledSites sites_;
  Report report_;
};

// With its sites. May throw bad_alloc.
[[nodiscard]] Report assemble(ReportParts parts);

}  // namespace vramscope
