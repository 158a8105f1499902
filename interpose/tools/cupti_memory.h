// CuptiMemory sums CUPTI's memory records and says where they differ from our own. It does not call
// CUPTI.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "allocator/base/snapshot.h"
#include "reporter/report/cupti_facts.h"

namespace vramscope {

// One record, without CUPTI's types.
struct CuptiRecord {
  enum class What : std::uint8_t {
    allocation,
    release,
    pool_created,
    pool_destroyed,
    pool_trimmed,
  };
  What what = What::allocation;
  Kind kind = Kind::device;
  std::uint16_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string_view source = {};  // "": unknown
};

// Takes records in the order in which CUPTI delivers them. Records of one buffer are in order, but
// buffers may overtake each other. So a release without its allocation waits for it.
// Threads: one at a time. May throw bad_alloc.
class CuptiMemory {
 public:
  static constexpr std::size_t kMaxLive = std::size_t{1} << 20;
  static constexpr std::size_t kMaxSources = 256;
  static constexpr std::size_t kMaxDifferences = 64;  // listed

  void take(const CuptiRecord& record);
  void count_dropped(std::uint64_t records) { dropped_ += records; }

  // Compares with the segments of `memory`, a snapshot of about the same time.
  [[nodiscard]] CuptiFacts compare(const Snapshot& memory) const;

 private:
  struct Source {
    std::uint64_t live_bytes = 0, total_bytes = 0, total_count = 0;
  };
  using Sources = std::map<std::string, Source, std::less<>>;
  struct Live {
    CuptiRecord record;  // without its source, whose text belongs to CUPTI
    Sources::value_type* source = nullptr;
  };

  void allocate(const CuptiRecord& record);
  void release(const CuptiRecord& record);
  [[nodiscard]] Sources::value_type* source_of(std::string_view path);

  std::map<std::uint64_t, Live> live_;                     // by address
  std::map<std::uint64_t, std::uint64_t> early_releases_;  // by address: how many
  Sources sources_;
  std::uint64_t records_ = 0, dropped_ = 0;
  std::uint64_t pools_created_ = 0, pools_destroyed_ = 0, pools_trimmed_ = 0;
};

}  // namespace vramscope
