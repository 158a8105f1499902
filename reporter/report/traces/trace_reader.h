// TraceReader checks the chunks of a trace and passes on its events in one order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/base/facts.h"
#include "reporter/record/trace/begin.h"
#include "reporter/record/trace/code.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Returns why a file with this beginning is no trace, or "" if it may be one.
[[nodiscard]] std::string not_a_trace(std::string_view text);

// Threads: one. All functions may throw bad_alloc.
class TraceReader {
 public:
  // Whether damaged or missing chunks are a problem, or are left out with everything that depends
  // on them.
  enum class Damage : bool { refused, left_out };

  // `bytes` is the whole uncompressed file and outlives the reader. Looks at every chunk.
  TraceReader(std::span<const std::byte> bytes, Damage damage);

  // Returns "" or the first problem: "byte 4711: expected ...". With a problem, nothing else is
  // valid.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const TraceNames& names() const { return names_; }
  void show_sources(ShownSources shown) { names_.sources_shown = std::move(shown); }
  // Returns how segments of our allocator were added and removed, in order. Empty if it had no
  // segments or an older version wrote the trace.
  [[nodiscard]] const std::vector<SegmentChange>& segments() const { return segments_; }
  // Returns what of devices was used and not recorded, in order. Empty if an older version wrote
  // the trace.
  [[nodiscard]] const std::vector<UnrecordedChange>& unrecorded() const { return unrecorded_; }
  // Returns when the trace began if it began amid the run, and what was live then, as the events
  // that read() gives first. Null: it has the whole run.
  [[nodiscard]] const TraceBegin* begin() const { return begin_ ? &*begin_ : nullptr; }
  [[nodiscard]] const std::vector<TraceEvent>& live_before() const { return live_before_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }  // according to its last mark
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t damaged() const {
    return damaged_;
  }  // number of chunks left out, at
     // least
  // Returns whether nothing follows the last mark: the process wrote everything that it recorded.
  [[nodiscard]] bool is_complete() const { return complete_; }

  // by_change: memory is allocated and freed in its real order, across all threads. by_end: calls
  // are in the order of their ends.
  enum class Order : bool { by_change, by_end };
  // Calls visit for each event. Returns false if the trace is damaged although its checksums are
  // right; problem() then says where.
  [[nodiscard]] bool read(Order order, const std::function<void(const TraceEvent&)>& visit);
  // May be called by `visit` to get no more events.
  void stop() { stops_ = true; }

 private:
  struct Slice {
    std::uint32_t part = 0;
    std::uint16_t number = 0;
    bool last = false;
    std::uint32_t events = 0;
    std::uint64_t offset = 0;  // of its bytes
    std::span<const std::byte> bytes;
  };
  class Cursor;

  [[nodiscard]] bool check_head();
  [[nodiscard]] bool check_chunks();
  [[nodiscard]] std::string take_chunk(std::size_t& at);
  [[nodiscard]] std::string take(const ChunkHead& head, std::span<const std::byte> bytes,
                                 std::size_t at);
  [[nodiscard]] bool take_marks(std::span<const std::byte> content);
  [[nodiscard]] bool take_repeated_marks(std::span<const std::byte> content);
  [[nodiscard]] bool take_segments(std::span<const std::byte> content);
  [[nodiscard]] bool take_unrecorded(std::span<const std::byte> content);
  [[nodiscard]] bool take_settings(std::span<const std::byte> content);
  [[nodiscard]] bool take_begin(std::span<const std::byte> content);
  [[nodiscard]] bool is_left_out(const TraceEvent& event) const {
    return begin_ && begin_->covers(event);
  }
  void sort_segments();
  [[nodiscard]] bool skip_damage(std::size_t& at);
  [[nodiscard]] std::size_t most_missing() const;
  [[nodiscard]] bool check_lanes();
  void leave_out_gaps(std::vector<Slice>& slices);
  bool fail(std::uint64_t byte, const std::string& expected);
  bool fail_cut_off(std::string_view hint);

  const std::span<const std::byte> bytes_;
  const Damage damage_;
  std::string problem_;
  TraceNames names_;
  std::map<std::uint32_t, std::vector<Slice>> lanes_;
  std::vector<SegmentChange> segments_;
  std::vector<UnrecordedChange> unrecorded_;
  std::optional<TraceBegin> begin_;
  std::vector<TraceEvent> live_before_;
  std::uint64_t events_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t damaged_ = 0;
  std::size_t skipped_bytes_ = 0;   // bytes of damage that were skipped
  std::size_t searched_bytes_ = 0;  // bytes of damaged chunks in which the next chunk was looked
                                    // for
  bool complete_ = false;
  bool stops_ = false;
};

}  // namespace vramscope
