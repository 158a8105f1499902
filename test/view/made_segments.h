// Reports whose segments have holes, and what is said of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/view/text/map_text.h"
#include "test/view/sample_report.h"

namespace vramscope {

inline constexpr std::uint64_t kKiB = 1 << 10;
inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr Address kFirst = 0x7f0000000000;

struct Piece {
  std::uint64_t bytes = 0;
  BlockState state = BlockState::inactive;
  std::int64_t site = -1;
  std::int64_t born_ns = -1;
};
constexpr Piece free_of(std::uint64_t bytes) { return {.bytes = bytes}; }
constexpr Piece used(std::uint64_t bytes, std::int64_t site = 0, std::int64_t born_ns = 0) {
  return {bytes, BlockState::active_allocated, site, born_ns};
}

inline SegmentFacts segment(std::vector<Piece> pieces, Address address = kFirst) {
  SegmentFacts facts;
  facts.address = address;
  for (const Piece& piece : pieces) {
    facts.blocks.push_back({.address = address + facts.total_size,
                            .size = piece.bytes,
                            .requested_size = piece.bytes,
                            .state = piece.state,
                            .site = piece.site,
                            .born_ns = piece.born_ns});
    facts.total_size += piece.bytes;
    if (piece.state == BlockState::active_allocated) facts.allocated_size += piece.bytes;
  }
  return facts;
}

inline Report holding(std::vector<SegmentFacts> segments) {
  Report report = sample_report();
  report.process.options = {{"policy", "pytorch"}};
  report.timeline.duration_ns = 10'000'000'000;
  report.devices[0].segments = std::move(segments);
  return report;
}

inline std::string text_of(const Report& report, const MapMoment& moment, const Page& page,
                           std::size_t most = 5, const ScreenRoom& room = {}) {
  const std::vector<MapPlace> places = memory_map(report);
  const NameFrame name = sample_names();
  const std::vector<PlaceAnswer> answer = map_answer(report, places, moment, name);
  return render(map_text(report, answer, moment, name, page, most), page, room);
}

inline std::string text_of(const Report& report, std::size_t width = 80, std::size_t most = 5) {
  const MapMoment moment{.text = "at the end", .at_ns = report.timeline.duration_ns};
  return text_of(report, moment, {.width = width}, most);
}

inline bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// Two segments that one block each pins, one of small blocks, an idle one and a full one.
inline Report fragmented() {
  SegmentFacts small = segment({used(64 * kKiB), used(64 * kKiB, 1), free_of(1920 * kKiB)}, 0x1000);
  small.is_small = true;
  return holding(
      {segment({free_of(12 * kMiB), used(2 * kMiB, 0, 4'000'000'000), free_of(6 * kMiB)}),
       segment({used(8 * kMiB, 1), used(2 * kMiB), free_of(10 * kMiB)}, 0x20000000), small,
       segment({free_of(20 * kMiB)}, 0x40000000),
       segment({used(12 * kMiB), used(8 * kMiB, 1)}, 0x60000000)});
}

}  // namespace vramscope
