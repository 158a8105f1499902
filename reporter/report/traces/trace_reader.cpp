// Checks chunks and merges lanes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "reporter/record/trace/format.h"
#include "reporter/report/files/input_file.h"

namespace vramscope {

namespace {

constexpr const char* kPartialHint = " (vramscope trace --partial FILE reads the rest)";
constexpr const char* kCutOff = "expected more before the end of the file";
constexpr std::size_t kLeastFactBytes = 3;
// Limits the lanes, which is the number of threads at one time; each lane needs 17 KiB of memory.
constexpr std::size_t kMostLanes = std::size_t{1} << 15;
// Limits how often a file's bytes are searched for a chunk: those of damaged chunks are searched
// again.
constexpr std::size_t kMostSearches = 8;

[[nodiscard]] bool is_head(const ChunkHead& head) {
  return head.magic == ChunkHead::kMagic && head.bytes <= kMostChunkBytes &&
         checksum_of(std::as_bytes(std::span(&head, 1)).first(kHeadBytesChecked)) ==
             head.head_checksum;
}

[[nodiscard]] ChunkHead head_at(std::span<const std::byte> bytes) {
  ChunkHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

}  // namespace

std::string not_a_trace(std::string_view text) {
  constexpr std::size_t kBeginning = 4096;
  if (text.starts_with(kTraceMagic)) return "";
  if (!text.empty() && kTraceMagic.starts_with(text)) return ends_early_at(text.size());
  if (text.substr(0, kBeginning).find("\"vramscope-report\"") != text.npos) {
    return "byte 1: expected a trace, found a report, which vramscope report shows";
  }
  return "byte 1: expected a trace, which begins with 'VRAMSCOPE TRACE'";
}

TraceReader::TraceReader(std::span<const std::byte> bytes, Damage damage)
    : bytes_(bytes), damage_(damage) {
  if (!check_head() || !check_chunks() || !check_lanes()) return;
  close_trace_names(names_);
  sort_segments();
  if (damage_ == Damage::refused && marked_ > events_) {
    fail(bytes_.size(), "expected " + std::to_string(marked_) + " events, as the last mark says");
  }
}

bool TraceReader::fail(std::uint64_t byte, const std::string& expected) {
  if (problem_.empty()) problem_ = "byte " + std::to_string(byte) + ": " + expected;
  return false;
}

bool TraceReader::fail_cut_off(std::string_view hint) {
  if (problem_.empty()) problem_ = ends_early_at(bytes_.size()).append(hint);
  return false;
}

bool TraceReader::check_head() {
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  problem_ = not_a_trace(text);
  if (!problem_.empty()) return false;
  if (bytes_.size() < kTraceHeadBytes) return fail_cut_off("");
  std::uint32_t version = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&version, bytes_.data() + 16, sizeof version);
  std::memcpy(&checksum, bytes_.data() + 20, sizeof checksum);
  if (checksum_of(bytes_.first(20)) != checksum) {
    return fail(17, "expected another checksum: the file's head is damaged");
  }
  if (version != kTraceVersion) {
    return fail(17, "expected version " + std::to_string(kTraceVersion) + " of the format, found " +
                        std::to_string(version));
  }
  return true;
}

bool TraceReader::check_chunks() {
  for (std::size_t at = kTraceHeadBytes; at < bytes_.size();) {
    const std::size_t here = at;
    const std::string expected = take_chunk(at);
    if (expected.empty()) continue;
    if (damage_ == Damage::refused) {
      return expected == kCutOff ? fail_cut_off(kPartialHint)
                                 : fail(here + 1, expected + kPartialHint);
    }
    ++damaged_;
    complete_ = false;
    if (at == here) ++at;
    const bool found = skip_damage(at);
    skipped_bytes_ += std::min(at, bytes_.size()) - here;
    if (!found) break;
  }
  return true;
}

// Returns how many facts may have been in the damaged bytes so far.
std::size_t TraceReader::most_missing() const {
  return damage_ == Damage::left_out ? skipped_bytes_ / kLeastFactBytes : 0;
}

// Moves to the next chunk's beginning. Returns false if there is none.
bool TraceReader::skip_damage(std::size_t& at) {
  constexpr char kMagic[] = {'V', 'T', 'C', '1'};
  const auto* const text = reinterpret_cast<const char*>(bytes_.data());
  for (; at + sizeof(ChunkHead) <= bytes_.size(); ++at) {
    const auto* const found =
        std::search(text + at, text + bytes_.size(), std::begin(kMagic), std::end(kMagic));
    at = static_cast<std::size_t>(found - text);
    if (at + sizeof(ChunkHead) > bytes_.size()) return false;
    if (is_head(head_at(bytes_.subspan(at)))) return true;
  }
  return false;
}

// Returns "" and moves behind the chunk, or returns its problem.
std::string TraceReader::take_chunk(std::size_t& at) {
  const std::span<const std::byte> rest = bytes_.subspan(at);
  if (rest.size() < sizeof(ChunkHead)) return kCutOff;
  const ChunkHead head = head_at(rest);
  if (head.magic != ChunkHead::kMagic) return "expected a chunk, which begins with 'VTC1'";
  if (!is_head(head)) return "expected another checksum: the head of this chunk is damaged";
  if (rest.size() - sizeof head < head.bytes) return kCutOff;
  const std::span<const std::byte> content = rest.subspan(sizeof head, head.bytes);
  std::string expected = checksum_of(content) == head.checksum
                             ? take(head, content, at + sizeof head)
                             : "expected another checksum: this chunk is damaged";
  // The next chunk may begin inside a damaged one. If heads overlap without end, they are believed
  // at last.
  if (!expected.empty()) searched_bytes_ += content.size();
  const bool believed = expected.empty() || searched_bytes_ / kMostSearches > bytes_.size();
  if (believed) at += sizeof head + head.bytes;
  if (expected.empty()) ++chunks_;
  return expected;
}

std::string TraceReader::take(const ChunkHead& head, std::span<const std::byte> content,
                              std::size_t at) {
  complete_ = head.type == ChunkType::mark;
  switch (head.type) {
    case ChunkType::facts:
      return read_trace_facts(content, most_missing(), names_) ? ""
                                                               : "expected facts that can be read";
    case ChunkType::events:
      if (lanes_.size() >= kMostLanes && !lanes_.contains(head.lane)) {
        return "expected at most " + std::to_string(kMostLanes) + " lanes";
      }
      lanes_[head.lane].push_back({.part = head.part,
                                   .number = head.slice,
                                   .last = (head.flags & ChunkHead::kLast) != 0,
                                   .events = head.events,
                                   .offset = at,
                                   .bytes = content});
      return "";
    case ChunkType::segments:
      return take_segments(content) ? "" : "expected segments that can be read";
    case ChunkType::marks:
      return take_marks(content) ? "" : "expected marks that can be read";
    case ChunkType::repeated_marks:
      return take_repeated_marks(content) ? "" : "expected marks that can be read";
    case ChunkType::unrecorded:
      return take_unrecorded(content) ? "" : "expected memory in use that can be read";
    case ChunkType::settings:
      return take_settings(content) ? "" : "expected settings that can be read";
    case ChunkType::begin:
      return take_begin(content) ? "" : "expected live memory that can be read";
    case ChunkType::mark: {
      TraceBytes bytes(content);
      marked_ = bytes.number();
      lost_ = bytes.number();
      return bytes.bad() ? "expected a mark that can be read" : "";
    }
  }
  return "";  // a chunk of a later version, which only adds information
}

bool TraceReader::take_marks(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  while (!bytes.empty() && bytes.byte() == 0) get_mark(bytes, names_.facts.marks);
  return !bytes.bad() && bytes.empty();
}

bool TraceReader::take_repeated_marks(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  while (!bytes.empty() && bytes.byte() == 0) {
    get_repeated_mark(bytes, names_.facts.repeated_marks);
  }
  return !bytes.bad() && bytes.empty();
}

bool TraceReader::take_segments(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  while (!bytes.empty()) {
    SegmentChange change;
    if (!get_segment(bytes, change)) return false;
    segments_.push_back(change);
  }
  return true;
}

bool TraceReader::take_unrecorded(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  while (!bytes.empty()) {
    UnrecordedChange change;
    if (!get_unrecorded(bytes, change)) return false;
    unrecorded_.push_back(change);
  }
  return true;
}

bool TraceReader::take_settings(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  names_.process.host_bytes = bytes.number();
  while (!bytes.empty()) {
    std::string name(bytes.text());
    std::string value(bytes.text());
    if (!bytes.bad()) names_.process.settings.emplace_back(std::move(name), std::move(value));
  }
  return !bytes.bad();
}

// The first such chunk says that the trace begins amid the run, before that is known to the end.
bool TraceReader::take_begin(std::span<const std::byte> content) {
  TraceBytes bytes(content);
  return get_begin(bytes, begin_.emplace(), live_before_);
}

// Sorts as events by_change: what the driver was asked after an allocation comes after that
// allocation.
void TraceReader::sort_segments() {
  const auto is_before = [](const auto& a, const auto& b) {
    return std::tie(a.serial, a.at_ns) < std::tie(b.serial, b.at_ns);
  };
  // Those without a time were there when the trace began.
  std::erase_if(segments_, [&](const SegmentChange& change) {
    return begin_ && change.at_ns != 0 && change.serial < begin_->serial;
  });
  std::stable_sort(segments_.begin(), segments_.end(), is_before);
  std::stable_sort(unrecorded_.begin(), unrecorded_.end(), is_before);
}

// The chunks of a lane may be in any order in the file, but none may be missing.
bool TraceReader::check_lanes() {
  for (auto& [lane, slices] : lanes_) {
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::tie(a.part, a.number) < std::tie(b.part, b.number);
    });
    if (damage_ == Damage::left_out) leave_out_gaps(slices);
    std::uint32_t part = 0;
    std::uint32_t number = 0;
    for (const Slice& slice : slices) {
      if (damage_ == Damage::refused && (slice.part != part || slice.number != number)) {
        return fail(slice.offset, "expected the chunk before this one of lane " +
                                      std::to_string(lane) + " somewhere in the file" +
                                      kPartialHint);
      }
      part = slice.part + (slice.last ? 1 : 0);
      number = slice.last ? 0 : slice.number + 1U;
      events_ += slice.events;
    }
  }
  return true;
}

// A slice can be read only if all earlier slices of its part were read.
void TraceReader::leave_out_gaps(std::vector<Slice>& slices) {
  std::vector<Slice> kept;
  for (const Slice& slice : slices) {
    const bool follows = slice.number == 0 || (!kept.empty() && kept.back().part == slice.part &&
                                               kept.back().number + 1 == slice.number);
    if (follows) {
      kept.push_back(slice);
    } else {
      ++damaged_;
    }
  }
  slices = std::move(kept);
}

// Walks along the events of one lane.
class TraceReader::Cursor {
 public:
  explicit Cursor(const std::vector<Slice>& slices) : next_(slices.begin()), end_(slices.end()) {}

  // Reads the next event. Returns false at the end, or if it cannot be read; damaged() then says
  // where.
  bool advance() {
    while (bytes_.empty()) {
      if (left_ != 0 || next_ == end_) return stop(left_ != 0);
      if (next_->number == 0) state_.clear();
      bytes_ = TraceBytes(next_->bytes);
      left_ = next_->events;
      offset_ = next_->offset;
      ++next_;
    }
    if (left_ == 0 || !state_.get(bytes_, event_)) return stop(true);
    --left_;
    if (event_.what != trace::What::call) serial_ = event_.event.serial;
    return true;
  }

  [[nodiscard]] const TraceEvent& event() const { return event_; }
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  [[nodiscard]] bool is_before(const Cursor& other, Order order) const {
    if (order == Order::by_end) return end_ns() < other.end_ns();
    return key() < other.key();
  }

 private:
  [[nodiscard]] std::uint64_t end_ns() const {
    return event_.event.start_ns + event_.event.total_ns;
  }
  // A free has the number of the newest allocation before it, so it is sorted after that one.
  [[nodiscard]] std::tuple<std::uint64_t, bool, std::uint64_t> key() const {
    const bool comes = event_.what == trace::What::came || event_.what == trace::What::came_besides;
    return {serial_, !comes, event_.event.start_ns};
  }
  bool stop(bool damaged) {
    damaged_ = damaged;
    return false;
  }

  std::vector<Slice>::const_iterator next_;
  std::vector<Slice>::const_iterator end_;
  TraceBytes bytes_;
  std::uint32_t left_ = 0;  // events left in the slice
  std::uint64_t offset_ = 0;
  std::uint64_t serial_ = 0;
  TraceState state_;
  TraceEvent event_;
  bool damaged_ = false;
};

bool TraceReader::read(Order order, const std::function<void(const TraceEvent&)>& visit) {
  stops_ = false;
  for (const TraceEvent& one : live_before_) {
    visit(one);
    if (stops_) return true;
  }
  std::vector<std::unique_ptr<Cursor>> cursors;
  const auto advance = [this](Cursor& cursor) {
    while (cursor.advance()) {
      if (!is_left_out(cursor.event())) return true;
    }
    return false;
  };
  const auto keep_if_more = [&](std::unique_ptr<Cursor> cursor) {
    if (advance(*cursor)) {
      cursors.push_back(std::move(cursor));
      return true;
    }
    return !cursor->damaged() || fail(cursor->offset() + 1, "expected events that can be read");
  };
  for (const auto& [lane, slices] : lanes_) {
    if (!keep_if_more(std::make_unique<Cursor>(slices))) return false;
  }
  const auto later = [order](const auto& a, const auto& b) { return b->is_before(*a, order); };
  std::make_heap(cursors.begin(), cursors.end(), later);
  while (!cursors.empty()) {
    std::pop_heap(cursors.begin(), cursors.end(), later);
    std::unique_ptr<Cursor> first = std::move(cursors.back());
    cursors.pop_back();
    // The lane may well continue before all others.
    for (;;) {
      visit(first->event());
      if (stops_) return true;
      if (!advance(*first)) break;
      if (!cursors.empty() && cursors.front()->is_before(*first, order)) {
        cursors.push_back(std::move(first));
        std::push_heap(cursors.begin(), cursors.end(), later);
        break;
      }
    }
    if (first && first->damaged()) {
      return fail(first->offset() + 1, "expected events that can be read");
    }
  }
  return true;
}

}  // namespace vramscope
