// Numbers frames by their content instead of their position.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge_frames.h"

#include <algorithm>
#include <concepts>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

namespace vramscope {
namespace {

// Returns what identifies a row.
std::tuple<bool, const std::string&> content_of(const ModuleFact& module) {
  const bool has_id = !module.build_id.empty();
  return {has_id, has_id ? module.build_id : module.path};
}
auto content_of(const SourceFact& source) {
  return std::tie(source.path, source.bytes, source.modified_ns);
}
auto content_of(const CodeFact& code) { return std::tie(code.name, code.source, code.first_line); }
auto content_of(const FrameFact& frame) {
  return std::tie(frame.module, frame.offset, frame.code, frame.line);
}

std::size_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }
std::size_t hash_of(std::integral auto number) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  const std::uint64_t product = static_cast<std::uint64_t>(number) * kGoldenRatio;
  return product ^ product >> 32;
}

// Sorts rows. Returns the new position of each. Millions of rows are moved where they are.
template <class Row, class Less>
std::vector<std::uint32_t> sort_rows(std::vector<Row>& rows, Less less) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return less(rows[a], rows[b]); });
  std::vector<std::uint32_t> places(rows.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  std::vector<std::uint32_t>& left = order;  // where the row that is at this position has to go
  left = places;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    while (left[i] != i) {
      const std::uint32_t goal = left[i];
      std::swap(rows[i], rows[goal]);
      std::swap(left[i], left[goal]);
    }
  }
  return places;
}

std::uint32_t place_of(const std::vector<std::uint32_t>& places, std::uint32_t number,
                       std::uint32_t none) {
  return number == none ? none : places[number];
}

}  // namespace

template <class Row>
std::size_t FrameTables::Rows<Row>::slot_of(const Row& row) const {
  std::size_t hash = 0;
  const auto add = [&](const auto& part) { hash = hash_of(hash + hash_of(part)); };
  std::apply([&](const auto&... parts) { (add(parts), ...); }, content_of(row));
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != kFree && content_of(rows[slots_[slot]]) != content_of(row)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

template <class Row>
void FrameTables::Rows<Row>::grow() {
  constexpr std::size_t kFirst = 64;
  slots_.assign(std::max(kFirst, 2 * slots_.size()), kFree);
  for (std::uint32_t number = 0; number < rows.size(); ++number) {
    slots_[slot_of(rows[number])] = number;
  }
}

template <class Row>
std::uint32_t FrameTables::Rows<Row>::number_of(const Row& row) {
  if (rows.size() >= slots_.size() / 2) grow();
  std::uint32_t& slot = slots_[slot_of(row)];
  if (slot == kFree) {
    rows.push_back(row);
    slot = static_cast<std::uint32_t>(rows.size() - 1);
  }
  return slot;
}

template <class Row>
std::vector<Row> FrameTables::Rows<Row>::take() {
  slots_ = {};
  return std::move(rows);
}

// The address at which a module was mapped is ignored, since it differs between processes.
std::uint32_t FrameTables::module_number(const ModuleFact& module) {
  const std::uint32_t number = modules_.number_of(module);
  ModuleFact& kept = modules_.rows[number];
  kept.path = std::min(kept.path, module.path);
  if (kept.base != module.base) kept.base = 0;
  return number;
}

std::vector<std::uint32_t> FrameTables::add(const Report& report) {
  std::vector<std::uint32_t> modules, sources, codes, frames;
  for (const ModuleFact& module : report.modules) modules.push_back(module_number(module));
  for (const SourceFact& source : report.sources) sources.push_back(sources_.number_of(source));
  for (CodeFact code : report.codes) {
    code.source = sources[code.source];
    codes.push_back(codes_.number_of(code));
  }
  frames.reserve(report.frames.size());
  for (FrameFact frame : report.frames) {
    frame.module = place_of(modules, frame.module, kNoModule);
    frame.code = place_of(codes, frame.code, kNoCode);
    frames.push_back(frames_.number_of(frame));
  }
  return frames;
}

std::vector<std::uint32_t> FrameTables::finish(Report& report) {
  report.modules = modules_.take();
  report.sources = sources_.take();
  report.codes = codes_.take();
  report.frames = frames_.take();
  const auto modules = sort_rows(report.modules, [](const ModuleFact& a, const ModuleFact& b) {
    return std::tie(a.path, a.build_id) < std::tie(b.path, b.build_id);
  });
  const auto sources = sort_rows(report.sources, [](const SourceFact& a, const SourceFact& b) {
    return std::tie(a.path, a.bytes, a.modified_ns) < std::tie(b.path, b.bytes, b.modified_ns);
  });
  for (CodeFact& code : report.codes) code.source = sources[code.source];
  const auto codes = sort_rows(report.codes, [](const CodeFact& a, const CodeFact& b) {
    return std::tie(a.name, a.source, a.first_line) < std::tie(b.name, b.source, b.first_line);
  });
  for (FrameFact& frame : report.frames) {
    frame.module = place_of(modules, frame.module, kNoModule);
    frame.code = place_of(codes, frame.code, kNoCode);
  }
  return sort_rows(report.frames, [](const FrameFact& a, const FrameFact& b) {
    return std::tie(a.module, a.offset, a.code, a.line) <
           std::tie(b.module, b.offset, b.code, b.line);
  });
}

}  // namespace vramscope
