// PageMap is the segments that a page draws, at one or several instants.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reporter/view/listing/json_text.h"
#include "reporter/view/text/map_text.h"

namespace vramscope {

struct Report;

// Threads: one. May throw bad_alloc.
class PageMap {
 public:
  // Adds the segments of an instant, with at most `pinners` of the sites that pin them. Adjacent
  // small blocks become one cell, and segments are kept as long as `cells` suffice. Returns the
  // moment's number.
  std::size_t add(const std::vector<MapPlace>& places, const MapMoment& moment, std::size_t pinners,
                  std::size_t cells);
  // For a trace: the moment that shows the whole run, and the moment and instant that show each
  // part. If nothing happens for a while, several parts share one moment.
  struct Part {
    std::size_t moment = 0;
    std::uint64_t at_ns = 0;
  };
  void set_parts(std::size_t whole, std::vector<Part> parts) {
    whole_ = whole;
    parts_ = std::move(parts);
  }

  // Writes into the object `json`: "states", "segments" (those of several moments once), "moments",
  // "whole" and "parts". The moment of the whole run has at most `cells` cells. The others have
  // fewer, so that they take less than half of a page. node: the node of a site's call stack in the
  // page, which is made if is_made; 0: none.
  using NodeOf = std::function<std::uint32_t(std::size_t site, bool is_made)>;
  void write(JsonText& json, const NodeOf& node, std::size_t cells) const;

 private:
  // A block, or several adjacent small ones.
  struct Cell {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t blocks = 0;
    // Only for a single block. site: -1: unknown.
    BlockState state = BlockState::inactive;
    std::uint64_t requested_bytes = 0;
    std::int64_t site = -1;
    std::int64_t born_ns = -1;
    bool is_pin = false;
  };
  struct Segment {
    MapSegment facts;  // without segment and blocks
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<Cell> cells = {};
  };
  struct Placed {
    MapPlace facts;  // without segments
    std::vector<Segment> segments = {};
    std::size_t all = 0;  // number of all segments, including those that are not kept
  };
  struct Moment {
    MapMoment facts;
    std::vector<Placed> places = {};
  };
  class Writer;

  static Segment segment_of(const MapSegment& segment);
  static void add_cell(Segment& segment, const Cell& cell);

  std::vector<Moment> moments_;
  std::size_t whole_ = 0;
  std::vector<Part> parts_;
};

}  // namespace vramscope
