// ImportedRun is what a file of another tool tells of a run, in the words of our traces and
// reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "allocator/ground/snapshot.h"
#include "reporter/ground/facts.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

// In the order in which it happened. Times are nanoseconds since the epoch.
struct ImportedEvent {
  enum class What : std::uint8_t { came, went, refused };
  What what = What::came;
  std::uint64_t time_ns = 0;
  Place place = {};
  Tag tag = 0;
  std::uint32_t thread = 0;  // number of a ThreadFact
  Address address = 0;
  std::uint64_t bytes = 0;       // requested
  std::uint64_t free_bytes = 0;  // refused: of the device, by the driver's word
};

// Segments that came (positive) or went.
struct ImportedReservation {
  std::uint64_t time_ns = 0;
  std::uint16_t device = 0;
  std::int64_t bytes = 0;
};

struct ImportedRun {
  std::string path;
  std::string source;  // "a memory snapshot of PyTorch"
  RecorderFacts names;
  std::vector<ImportedEvent> events;
  std::vector<ImportedReservation> reservations;  // in order; those of the history
  // Of the instant at which the file was made; blocks have their tags.
  std::vector<SegmentSnapshot> segments;
  std::vector<BlockSnapshot> blocks;
  bool has_segments = false;  // the file tells of them; else live blocks are known alone
  bool has_dates = true;      // times are of a day that is known
  bool has_history = false;   // it tells when memory came and went
};

// Names of a run, each once. Threads: one. May throw bad_alloc.
class ImportedNames {
 public:
  // `owner`: whose code asked the driver.
  ImportedNames(RecorderFacts& facts, std::string owner);

  struct Who {
    std::uint32_t site = kUnknownSite;
    Place place = {};
    std::uint32_t thread = 0;
    std::uint32_t stream = 0;
    std::uint32_t range = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::uint32_t frame(std::string_view function, std::string_view file,
                                    std::uint64_t line);
  [[nodiscard]] std::uint32_t site(const std::vector<std::uint32_t>& frames);
  [[nodiscard]] std::uint32_t stream(std::uint64_t handle);
  [[nodiscard]] std::uint32_t thread(std::int64_t id);
  // Of the name, entered from `parent`.
  [[nodiscard]] std::uint32_t range(std::uint32_t parent, std::string_view name);
  [[nodiscard]] Tag tag(const Who& who);

 private:
  Group group(Axis axis, std::uint32_t value, Place place);

  RecorderFacts& facts_;
  std::map<std::string, std::uint32_t, std::less<>> sources_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> codes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> frames_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> sites_;
  std::map<std::uint64_t, std::uint32_t> streams_;
  std::map<std::int64_t, std::uint32_t> threads_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> ranges_;
  using TagKey = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t,
                            std::uint32_t, std::uint32_t>;
  std::map<TagKey, Tag> tags_;
  std::map<std::tuple<Axis, std::uint32_t, std::uint64_t>, Group> groups_;
};

}  // namespace vramscope
