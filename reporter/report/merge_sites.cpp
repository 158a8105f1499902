// Merges runs of sites, sorted by frames, as any external sort does.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge_sites.h"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

#include "reporter/report/merge_numbers.h"
#include "reporter/report/site_code.h"

namespace vramscope {
namespace {

constexpr std::uint32_t kNoReference = std::numeric_limits<std::uint32_t>::max();

// Memory of equal stacks may be a cache's in one process and the program's in another.
std::string caches_of(const Site& site) {
  std::string caches;
  for (const SitePart& part : site.parts) {
    if (part.cache && caches.find(*part.cache) == caches.npos) caches += *part.cache + ' ';
  }
  return caches;
}

using SiteContent = std::tuple<const std::vector<std::uint32_t>&, bool, std::string>;
SiteContent content_of(const Site& site) {
  return {site.frames, site.is_left_out, caches_of(site)};
}
SiteContent content_of(const SiteKey& key) { return {key.frames, key.is_left_out, key.caches}; }

SiteKey key_of(const Site& site) {
  return {.frames = site.frames, .is_left_out = site.is_left_out, .caches = caches_of(site)};
}

bool comes_before(const Site& a, const Site& b) {
  const SiteTotals& x = a.totals;
  const SiteTotals& y = b.totals;
  const auto numbers = [](const SiteTotals& totals) {
    return std::tie(totals.peak_bytes, totals.live_bytes, totals.total_bytes);
  };
  if (numbers(x) != numbers(y)) return numbers(y) < numbers(x);
  return content_of(a) < content_of(b);
}

template <class T>
std::uint64_t bytes_of(const std::vector<T>& values) {
  constexpr std::uint64_t kOfAllocator = 16;
  return values.capacity() == 0 ? 0 : values.capacity() * sizeof(T) + kOfAllocator;
}

// Returns the size in memory, with the site's share of the hash table.
std::uint64_t bytes_of(const Site& site) {
  constexpr std::uint64_t kInTable = 48;
  return sizeof(Site) + kInTable + bytes_of(site.frames) + bytes_of(site.parts) +
         bytes_of(site.lifetimes) + bytes_of(site.sizes) + bytes_of(site.live_by_age);
}

// Reads the sites of one run in order.
class RunReader {
 public:
  explicit RunReader(const ScratchFile& file) : file_(&file) { next(); }
  [[nodiscard]] bool at_end() const { return at_end_; }
  [[nodiscard]] Site& site() { return site_; }

  void next() {
    std::uint32_t length = 0;
    at_end_ = !read(reinterpret_cast<char*>(&length), sizeof length);
    if (at_end_) return;
    bytes_.resize(length);
    read(bytes_.data(), length);
    site_ = decoded(bytes_);
  }

 private:
  bool read(char* to, std::size_t bytes) {
    constexpr std::size_t kBuffer = std::size_t{1} << 16;
    while (bytes != 0) {
      if (used_ == buffer_.size()) {
        buffer_.resize(kBuffer);
        buffer_.resize(file_->read(at_, buffer_.data(), kBuffer));
        at_ += buffer_.size();
        used_ = 0;
        if (buffer_.empty()) return false;
      }
      const std::size_t some = std::min(bytes, buffer_.size() - used_);
      std::memcpy(to, buffer_.data() + used_, some);
      used_ += some;
      to += some;
      bytes -= some;
    }
    return true;
  }

  const ScratchFile* file_;
  std::uint64_t at_ = 0;
  std::string buffer_;
  std::size_t used_ = 0;
  std::string bytes_;
  Site site_;
  bool at_end_ = false;
};

}  // namespace

template <class T>
std::size_t MergedSites::Content<T>::operator()(std::uint32_t index) const {
  const std::vector<std::uint32_t>& frames = rows[index].frames;
  const std::string_view bytes(reinterpret_cast<const char*>(frames.data()),
                               frames.size() * sizeof(std::uint32_t));
  return std::hash<std::string_view>()(bytes);
}
template <class T>
bool MergedSites::Content<T>::operator()(std::uint32_t a, std::uint32_t b) const {
  return content_of(rows[a]) == content_of(rows[b]);
}

MergedSites::MergedSites(std::uint64_t most_bytes)
    : most_bytes_(most_bytes),
      numbers_(0, Content<Site>{sites_}, Content<Site>{sites_}),
      reference_numbers_(0, Content<SiteKey>{references_}, Content<SiteKey>{references_}) {}

void MergedSites::add(Site&& site) {
  site.live_past = {};  // with its memory
  site.live_first = site.live_last = site.live_passes = site.live_marks = 0;
  site.live_range.clear();
  site.live_mark.clear();
  sites_.push_back(std::move(site));
  const auto [known, is_new] = numbers_.insert(static_cast<std::uint32_t>(sites_.size() - 1));
  if (is_new) {
    bytes_ += bytes_of(sites_.back());
    if (bytes_ > most_bytes_) put_aside();
  } else {
    const Site more = std::move(sites_.back());
    sites_.pop_back();
    add_numbers(sites_[*known], more);
  }
}

std::uint32_t MergedSites::refer(const Site& site) {
  references_.push_back(key_of(site));
  const auto number = static_cast<std::uint32_t>(references_.size() - 1);
  const auto [known, is_new] = reference_numbers_.insert(number);
  if (!is_new) references_.pop_back();
  return *known;
}

// Writes the sites in memory to a file of their own.
void MergedSites::put_aside() {
  std::sort(sites_.begin(), sites_.end(),
            [](const Site& a, const Site& b) { return content_of(a) < content_of(b); });
  ScratchFile& run = runs_.emplace_back();
  for (const Site& site : sites_) {
    const std::string bytes = encoded(site);
    const auto length = static_cast<std::uint32_t>(bytes.size());
    run.append({reinterpret_cast<const char*>(&length), sizeof length});
    run.append(bytes);
  }
  run.flush();
  numbers_.clear();
  sites_.clear();
  bytes_ = 0;
  malloc_trim(0);  // also frees what other threads allocated while reading
}

void MergedSites::finish(const std::vector<std::uint32_t>& frames, const DeviceNumbers& devices) {
  frames_ = frames;
  devices_ = devices;
  places_.resize(references_.size());
  if (!runs_.empty()) {
    put_aside();
    merge_runs();
    return;
  }
  std::vector<std::uint32_t> references;
  for (Site& site : sites_) {
    references.push_back(reference_of(site));
    renumber_all(site);
  }
  std::vector<std::uint32_t> order(sites_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return comes_before(sites_[a], sites_[b]); });
  std::vector<Site> sorted;
  sorted.reserve(sites_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    if (references[order[i]] != kNoReference) places_[references[order[i]]] = i;
    sorted.push_back(std::move(sites_[order[i]]));
  }
  sites_ = std::move(sorted);
}

std::uint32_t MergedSites::reference_of(const Site& site) {
  references_.push_back(key_of(site));
  const auto found = reference_numbers_.find(static_cast<std::uint32_t>(references_.size() - 1));
  references_.pop_back();
  return found == reference_numbers_.end() ? kNoReference : *found;
}

void MergedSites::renumber_all(Site& site) const {
  for (std::uint32_t& frame : site.frames) frame = frames_[frame];
  std::vector<SitePart> parts;
  for (SitePart& part : site.parts) {
    renumber(part.kind, part.device, devices_);
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const SitePart& known) {
      return known.kind == part.kind && known.device == part.device;
    });
    same == parts.end() ? parts.push_back(std::move(part)) : add_numbers(*same, part);
  }
  site.parts = std::move(parts);
  std::sort(site.parts.begin(), site.parts.end(), [](const SitePart& a, const SitePart& b) {
    return std::tie(a.kind, a.device) < std::tie(b.kind, b.device);
  });
}

void MergedSites::merge_runs() {
  std::vector<RunReader> readers;
  for (const ScratchFile& run : runs_) readers.emplace_back(run);
  const auto later = [&](std::size_t a, std::size_t b) {
    return content_of(readers[b].site()) < content_of(readers[a].site());
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (!readers[i].at_end()) next.push(i);
  }
  sums_ = std::make_unique<ScratchFile>();
  while (!next.empty()) {
    Site sum;
    for (bool is_first = true; !next.empty(); is_first = false) {
      const std::size_t reader = next.top();
      Site& site = readers[reader].site();
      if (!is_first && content_of(site) != content_of(sum)) break;
      next.pop();
      if (is_first) {
        sum = std::move(site);
      } else {
        add_numbers(sum, site);
      }
      readers[reader].next();
      if (!readers[reader].at_end()) next.push(reader);
    }
    keep(sum);
  }
  runs_.clear();
  sums_->flush();
  sort_rows();
}

void MergedSites::keep(Site& site) {
  const std::uint32_t reference = reference_of(site);
  renumber_all(site);
  const std::string bytes = encoded(site);
  rows_.push_back({.peak_bytes = site.totals.peak_bytes,
                   .live_bytes = site.totals.live_bytes,
                   .total_bytes = site.totals.total_bytes,
                   .at = sums_->append(bytes),
                   .bytes = static_cast<std::uint32_t>(bytes.size()),
                   .reference = reference});
}

// Compares numbers first: the frames of equal sites must be read again.
void MergedSites::sort_rows() {
  const auto numbers = [](const Row& row) {
    return std::tie(row.peak_bytes, row.live_bytes, row.total_bytes);
  };
  std::sort(rows_.begin(), rows_.end(),
            [&](const Row& a, const Row& b) { return numbers(b) < numbers(a); });
  for (auto begin = rows_.begin(); begin != rows_.end();) {
    const auto end = std::find_if(begin, rows_.end(),
                                  [&](const Row& row) { return numbers(row) != numbers(*begin); });
    if (end - begin > 1) {
      std::vector<std::pair<SiteKey, Row>> equal;
      for (auto row = begin; row != end; ++row) {
        equal.emplace_back(key_of(read(*row)), *row);
      }
      std::sort(equal.begin(), equal.end(), [](const auto& a, const auto& b) {
        return content_of(a.first) < content_of(b.first);
      });
      std::transform(equal.begin(), equal.end(), begin, [](const auto& one) { return one.second; });
    }
    begin = end;
  }
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].reference != kNoReference) places_[rows_[i].reference] = i;
  }
}

Site MergedSites::read(const Row& row) const {
  std::string bytes(row.bytes, '\0');
  sums_->read(row.at, bytes.data(), bytes.size());
  return decoded(bytes);
}

std::size_t MergedSites::size() const { return sums_ ? rows_.size() : sites_.size(); }

Site MergedSites::at(std::size_t index) const { return sums_ ? read(rows_[index]) : sites_[index]; }

std::vector<Site> MergedSites::take() {
  if (!sums_) return std::move(sites_);
  std::vector<Site> all;
  all.reserve(rows_.size());
  for (const Row& row : rows_) all.push_back(read(row));
  return all;
}

}  // namespace vramscope
