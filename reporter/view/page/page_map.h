// PageMap is the segments that a page draws, of one instant or of several.
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
  // The segments of an instant, with how many of those who pin them; small blocks that follow each
  // other become one cell, and segments are kept as far as `cells` reach. Gives the moment's
  // number.
  std::size_t add(const std::vector<MapPlace>& places, const MapMoment& moment, std::size_t pinners,
                  std::size_t cells);
  // Of a trace: the moment that shows all of it, and that which shows each part, with the instant:
  // where nothing happens for a while, one moment is of several.
  struct Part {
    std::size_t moment = 0;
    std::uint64_t at_ns = 0;
  };
  void set_parts(std::size_t whole, std::vector<Part> parts) {
    whole_ = whole;
    parts_ = std::move(parts);
  }

  // An object into `json`: "states", "segments", those that stand in several moments once,
  // "moments", "whole" and "parts". That which shows all has at most `cells` cells; the others have
  // fewer, so that they take less than half of a page. node: of a site's call stack among the
  // page's, which is made if it is to be; 0: there is none.
  using NodeOf = std::function<std::uint32_t(std::size_t site, bool is_made)>;
  void write(JsonText& json, const NodeOf& node, std::size_t cells) const;

 private:
  // A block, or several small ones that follow each other.
  struct Cell {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t blocks = 0;
    // Of a single one; site: -1: unknown.
    BlockState state = BlockState::inactive;
    std::uint64_t requested_bytes = 0;
    std::int64_t site = -1;
    std::int64_t born_ns = -1;
    bool is_pin = false;
  };
  struct Segment {
    MapSegment facts;  // whose segment and blocks are gone
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<Cell> cells = {};
  };
  struct Placed {
    MapPlace facts;  // without segments
    std::vector<Segment> segments = {};
    std::size_t all = 0;  // segments, those that are not kept too
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
