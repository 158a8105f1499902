// AssembledSites makes each site of a report when it is asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reporter/report/ages.h"
#include "reporter/report/parts.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {

// It lists the sites that have totals, the largest at the peak first; frames decide between equal
// ones. As values, 200,000 sites would take 1 KiB each; here they take about 12 bytes each.
// Threads: one.
class AssembledSites : public SiteList {
 public:
  // The parts outlive this object and do not change. May throw bad_alloc, like all functions here.
  explicit AssembledSites(const ReportParts& parts);

  [[nodiscard]] std::size_t size() const override { return order_.size(); }
  [[nodiscard]] Site at(std::size_t index) const override;

  // Returns the site of each tag; -1: none.
  [[nodiscard]] const std::vector<std::int64_t>& by_tag() const { return by_tag_; }
  // Moves the frames of sites and threads to the report, in the order of their use.
  void move_frames_to(Report& report);

 private:
  struct Key;
  static constexpr std::uint32_t kNoFrame = 0xffffffffU;

  [[nodiscard]] std::uint32_t site_of(std::size_t tag) const;
  // What the recorder and the allocator know of a tag; zeros if they do not know it.
  [[nodiscard]] TagFact fact_of(std::size_t tag) const;
  [[nodiscard]] TagTotals memory_of(std::size_t tag) const;
  [[nodiscard]] std::vector<Key> keys();
  void list_tags();
  void put_in_order(std::vector<Key> keys);
  void sort_by_frames(std::size_t begin, std::size_t end);
  template <class Number>
  void sort_by_frames_as(std::size_t begin, std::size_t end);
  void list_blocks();
  void renumber(std::vector<std::uint32_t>& frames, Report& report);
  void add_tag(std::size_t tag, Site& site) const;

  const ReportParts& parts_;
  const Ages ages_;
  const std::size_t sites_;                  // number of the recorder's sites
  std::size_t tags_ = 0;                     // number of tags of the recorder or the allocator
  std::vector<std::uint32_t> tags_by_site_;  // ordered by the recorder's site, then by tag
  std::vector<std::uint32_t> first_tag_;     // the first element of tags_by_site_ for each site
  std::vector<std::uint32_t> order_;         // the recorder's index of each site
  std::vector<std::int64_t> by_tag_;
  std::vector<std::uint32_t> live_blocks_;  // by site
  std::vector<std::uint32_t> numbers_;      // of each recorded frame in the report
};

}  // namespace vramscope
