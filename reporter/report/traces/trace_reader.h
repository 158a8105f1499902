// TraceReader checks the chunks of a trace and hands out its events in one order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/ground/facts.h"
#include "reporter/record/trace/code.h"
#include "reporter/record/trace/fact_code.h"

namespace vramscope {

// Why a file with this beginning is no trace, "" when it may be one.
[[nodiscard]] std::string not_a_trace(std::string_view text);

// Threads: one. Everything here may throw bad_alloc.
class TraceReader {
 public:
  // Whether chunks that are damaged or missing are a problem, or left out with what builds on them.
  enum class Damage : bool { refused, left_out };

  // `bytes` is the whole file, uncompressed, and outlives the reader. Looks at every chunk.
  TraceReader(std::span<const std::byte> bytes, Damage damage);

  // "", or the first thing that is wrong: "byte 4711: expected ...". Then nothing else is valid.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const TraceNames& names() const { return names_; }
  void show_sources(ShownSources shown) { names_.sources_shown = std::move(shown); }
  // How the segments of our allocator came and went, in that order. Empty: it had none, or an older
  // version wrote the trace.
  [[nodiscard]] const std::vector<SegmentChange>& segments() const { return segments_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }  // as its last mark says
  [[nodiscard]] std::uint64_t chunks() const { return chunks_; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }  // chunks left out, at least
  // Nothing is behind the last mark: the process wrote all that it recorded.
  [[nodiscard]] bool is_complete() const { return complete_; }

  // by_change: memory comes and goes in the order in which it did, whatever threads were at it.
  // by_end: calls in the order in which they ended.
  enum class Order : bool { by_change, by_end };
  // False: the trace is damaged although its checksums are right; problem() says where.
  [[nodiscard]] bool read(Order order, const std::function<void(const TraceEvent&)>& visit);
  // Called by `visit`, which wants no more events.
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
  std::uint64_t events_ = 0;
  std::uint64_t marked_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t damaged_ = 0;
  std::size_t skipped_bytes_ = 0;   // of damage
  std::size_t searched_bytes_ = 0;  // contents of damaged chunks in which a chunk was looked for
  bool complete_ = false;
  bool stops_ = false;
};

}  // namespace vramscope
