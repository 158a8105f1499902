// The sites of a report that is put together, each made when it is asked for.
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

// Those that have totals, largest at the peak first; the frames, which differ, decide the rest. A
// report of 200,000 sites takes 1 KiB for each as a value; here some 12 bytes do.
// Threads: one.
class AssembledSites : public SiteList {
 public:
  // Of parts that outlive this and do not change. May throw bad_alloc, as all here.
  explicit AssembledSites(const ReportParts& parts);

  [[nodiscard]] std::size_t size() const override { return order_.size(); }
  [[nodiscard]] Site at(std::size_t index) const override;

  // Which site a tag became, by tag; -1: none.
  [[nodiscard]] const std::vector<std::int64_t>& by_tag() const { return by_tag_; }
  // The frames of the sites go to the report, and those of its threads, in the order of their use.
  void move_frames_to(Report& report);

 private:
  struct Key;
  static constexpr std::uint32_t kNoFrame = 0xffffffffU;

  [[nodiscard]] std::uint32_t site_of(std::size_t tag) const;
  // What the recorder, and the allocator, have of a tag; zeros where they have not heard of it.
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
  const std::size_t sites_;                  // of the recorder
  std::size_t tags_ = 0;                     // of the recorder or the allocator
  std::vector<std::uint32_t> tags_by_site_;  // by the recorder's site, then in their order
  std::vector<std::uint32_t> first_tag_;     // of a site, among those
  std::vector<std::uint32_t> order_;         // the recorder's index of a site
  std::vector<std::int64_t> by_tag_;
  std::vector<std::uint32_t> live_blocks_;  // by site
  std::vector<std::uint32_t> numbers_;      // of the recorder's frames in the report
};

}  // namespace vramscope
