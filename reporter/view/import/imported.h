// ImportedRun is the content of another tool's file in the terms of our traces and reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "allocator/base/snapshot.h"
#include "reporter/base/facts.h"
#include "reporter/report/oom_events.h"

namespace vramscope {

// Events are in the order in which they happened. Times are nanoseconds since the epoch.
struct ImportedEvent {
  enum class What : std::uint8_t { came, went, refused };
  What what = What::came;
  std::uint64_t time_ns = 0;
  Place place = {};
  Tag tag = 0;
  std::uint32_t thread = 0;  // number of a ThreadFact
  Address address = 0;
  std::uint64_t bytes = 0;       // requested
  std::uint64_t free_bytes = 0;  // for `refused`: of the device, according to the driver
};

// Segments that were added (positive) or removed.
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
  std::vector<ImportedReservation> reservations;  // those of the history, in order
  // The state when the file was made. Blocks have their tags.
  std::vector<SegmentSnapshot> segments;
  std::vector<BlockSnapshot> blocks;
  bool has_segments = false;    // the file lists segments; else only live blocks are known
  bool has_dates = true;        // the day of the times is known
  bool has_history = false;     // the file says when memory was allocated and freed
  bool begins_late = false;     // it frees memory whose allocation is nowhere in it
  bool is_cut_off = false;      // it ends in the middle of a line
  std::string alloc_conf = {};  // PyTorch's PYTORCH_CUDA_ALLOC_CONF; "": none, or not known
  std::uint64_t earlier_allocations = 0;  // that were made before its history, and are put first
};

// The names of a run, each once. Threads: one. May throw bad_alloc.
class ImportedNames {
 public:
  // owner: the object whose code asked the driver.
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
  // Returns the range of the name below `parent`.
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
