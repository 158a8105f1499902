// MergedSites adds up the sites of many reports. If they take much memory, it puts them aside in
// scratch files, which it merges at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "reporter/report/files/scratch_file.h"
#include "reporter/report/merge_devices.h"
#include "reporter/report/report.h"
#include "reporter/report/site_list.h"

namespace vramscope {

// What identifies a site.
struct SiteKey {
  std::vector<std::uint32_t> frames;
  bool is_left_out = false;
  std::string caches;  // that hold its memory
};

// Sites are equal if their frames are, which have one number each here. Threads: one. All functions
// may throw bad_alloc, and system_error if a scratch file fails.
class MergedSites : public SiteList {
 public:
  // most_bytes: about the memory for sites, which is exceeded only in finish() with many of them.
  explicit MergedSites(std::uint64_t most_bytes);
  MergedSites(const MergedSites&) = delete;
  MergedSites& operator=(const MergedSites&) = delete;

  void add(Site&& site);
  // Returns a number by which places() finds the site of these frames. The site must be added at
  // some time.
  [[nodiscard]] std::uint32_t refer(const Site& site);

  // Sorts all sites. frames: the new number of each frame. Call it once.
  void finish(const std::vector<std::uint32_t>& frames, const DeviceNumbers& devices);

  // The functions from here on may be called after finish(). places() returns the positions of the
  // sites for which refer() was called.
  [[nodiscard]] const std::vector<std::uint32_t>& places() const { return places_; }
  [[nodiscard]] std::size_t size() const override;
  [[nodiscard]] Site at(std::size_t index) const override;
  // Returns all sites, which are moved out.
  [[nodiscard]] std::vector<Site> take();

 private:
  template <class T>  // Site or SiteKey
  struct Content {    // compares rows by their index
    const std::vector<T>& rows;
    std::size_t operator()(std::uint32_t index) const;
    bool operator()(std::uint32_t a, std::uint32_t b) const;
  };
  template <class T>
  using Numbers = std::unordered_set<std::uint32_t, Content<T>, Content<T>>;
  struct Row {  // of a site in the file: the values by which it is sorted, and its position
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
  Numbers<Site> numbers_;
  std::vector<SiteKey> references_;
  Numbers<SiteKey> reference_numbers_;
  std::vector<ScratchFile> runs_;  // each sorted by frames
  std::unique_ptr<ScratchFile> sums_;
  std::vector<Row> rows_;  // the sites in sums_
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> frames_;  // the new number of each frame
  DeviceNumbers devices_;              // the new number of each device
};

}  // namespace vramscope
