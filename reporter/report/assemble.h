// Assembly makes a report from its parts: what the allocator counted by tag becomes sites, axes,
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

  // Returns the report without its sites, which sites() returns. The caller may move members out of
  // it.
  [[nodiscard]] Report& report() { return report_; }
  [[nodiscard]] const SiteList& sites() const { return sites_; }

 private:
  void describe_memory();
  void describe_rest();

  const std::unique_ptr<ReportParts> parts_;  // the sites are made from these
  AssembledSites sites_;
  Report report_;
};

// Returns a report with its sites. May throw bad_alloc.
[[nodiscard]] Report assemble(ReportParts parts);

}  // namespace vramscope
