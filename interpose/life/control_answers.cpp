// SPDX-License-Identifier: Apache-2.0
#include "interpose/life/control_answers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "interpose/base/clock.h"
#include "reporter/report/live/control_protocol.h"

namespace vramscope {
namespace {

constexpr std::size_t kBlocksAtOnce = 64;

void add(std::string& text, std::string_view name, std::uint64_t value) {
  text.append(",\"").append(name).append("\":").append(std::to_string(value));
}

void add(std::string& text, std::string_view name, bool value) {
  text.append(",\"").append(name).append("\":").append(value ? "true" : "false");
}

void begin_segment(std::string& text, const SegmentSnapshot& segment) {
  text += "{\"device\":" + std::to_string(segment.place.device);
  add(text, "address", std::uint64_t{segment.address});
  add(text, "total_size", std::uint64_t{segment.total_size});
  add(text, "allocated_size", std::uint64_t{segment.allocated_size});
  add(text, "active_size", std::uint64_t{segment.active_size});
  add(text, "requested_size", std::uint64_t{segment.requested_size});
  add(text, "stream", std::uint64_t{0});
  text += ",\"segment_type\":";
  text += segment.is_small ? "\"small\"" : "\"large\"";
  text += ",\"segment_pool_id\":[0,0]";
  add(text, "is_expandable", bool{segment.is_expandable});
  add(text, "context", std::uint64_t{segment.place.context});
  add(text, "is_direct", bool{segment.is_direct});
  text += ",\"frames\":[],\"blocks\":[";
}

}  // namespace

ControlAnswer::Next PostedAnswer::next(std::string& text) {
  if (parts_.is_done()) {
    text += parts_.done();
  } else if (now_ns() < until_ns_) {
    return Next::later;
  } else {
    text += parts_.waits();
  }
  return Next::done;
}

SnapshotAnswer::SnapshotAnswer(Snapshot snapshot, std::atomic<bool>& is_alone)
    : snapshot_(std::move(snapshot)), is_alone_(is_alone) {
  is_alone_.store(true);
}

ControlAnswer::Next SnapshotAnswer::next(std::string& text) {
  const auto& segments = snapshot_.segments;
  while (segment_ < segments.size() && segments[segment_].place.kind != Kind::device) ++segment_;
  if (segment_ == segments.size()) {
    text += success_line(",\"segments\":" + std::to_string(told_));
    return Next::done;
  }
  const SegmentSnapshot& segment = segments[segment_];
  if (block_ == 0) begin_segment(text, segment);
  add_blocks(text, segment);
  if (block_ < segment.block_count) return Next::more;
  text += "]}\n";
  block_ = 0;
  ++segment_;
  ++told_;
  return Next::more;
}

void SnapshotAnswer::add_blocks(std::string& text, const SegmentSnapshot& segment) {
  const std::size_t end = std::min<std::size_t>(segment.block_count, block_ + kBlocksAtOnce);
  for (; block_ < end; ++block_) {
    const BlockSnapshot& block = snapshot_.blocks[segment.first_block + block_];
    const auto state = static_cast<std::size_t>(block.state);
    text += block_ == 0 ? "{\"address\":" : ",{\"address\":";
    text += std::to_string(block.address);
    add(text, "size", std::uint64_t{block.size});
    add(text, "requested_size", std::uint64_t{block.requested_size});
    text.append(",\"state\":\"").append(kBlockStateNames[state]).append("\",\"frames\":[]}");
  }
}

}  // namespace vramscope
