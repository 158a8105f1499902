// MergedSites adds up the sites of many reports. When they take much memory it puts them aside in
// scratch files, and goes through these at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "reporter/report/files/scratch_file.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {

// Sites are the same if their frames are, which here have one number each. Threads: one. All may
// throw bad_alloc, and system_error of scratch files.
class MergedSites : public SiteList {
 public:
  // most_bytes: of sites in memory; about, and only until finish() if they are many.
  explicit MergedSites(std::uint64_t most_bytes);
  MergedSites(const MergedSites&) = delete;
  MergedSites& operator=(const MergedSites&) = delete;

  void add(Site&& site);
  // A number by which place() finds the site of these frames, which has to be added at some time.
  [[nodiscard]] std::uint32_t refer(const Site& site);

  // Puts all into their order. `frames`: the new number of each frame. Call it once.
  void finish(const std::vector<std::uint32_t>& frames, const DeviceNumbers& devices);

  // From here on: after finish(). The places of those that were referred to.
  [[nodiscard]] const std::vector<std::uint32_t>& places() const { return places_; }
  [[nodiscard]] std::size_t size() const override;
  [[nodiscard]] Site at(std::size_t index) const override;
  // All of them, which are gone from here.
  [[nodiscard]] std::vector<Site> take();

 private:
  struct Content {  // of sites by their index
    const std::vector<Site>& sites;
    std::size_t operator()(std::uint32_t index) const;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };
  using Numbers = std::unordered_set<std::uint32_t, Content, Content>;
  struct Row {  // of a site in the file: what it is sorted by, and where it is
    std::uint64_t peak_bytes, live_bytes, total_bytes, at;
    std::uint32_t bytes, reference;
  };

  void put_aside();
  void merge_runs();
  void keep(Site& site);
  void sort_rows();
  [[nodiscard]] Site read(const Row& row) const;
  [[nodiscard]] std::uint32_t reference_of(const Site& site);
  void renumber_all(Site& site) const;

  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::vector<Site> sites_;
  Numbers numbers_;
  std::vector<Site> references_;  // their frames alone
  Numbers reference_numbers_;
  std::vector<ScratchFile> runs_;  // each in the order of frames
  std::unique_ptr<ScratchFile> sums_;
  std::vector<Row> rows_;  // of sums_
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> frames_;  // the new number of each
  DeviceNumbers devices_;              // likewise
};

}  // namespace vramscope
