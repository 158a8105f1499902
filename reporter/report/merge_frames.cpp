// Numbers frames by what they are instead of where they stood.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/merge_frames.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace vramscope {
namespace {

// The bytes of the numbers, one after the other.
template <class... Numbers>
std::string key_of(Numbers... numbers) {
  std::string key;
  (key.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return key;
}

// Sorts rows; gives the new place of each.
template <class Row, class Less>
std::vector<std::uint32_t> sort_rows(std::vector<Row>& rows, Less less) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return less(rows[a], rows[b]); });
  std::vector<std::uint32_t> places(rows.size());
  std::vector<Row> sorted;
  sorted.reserve(rows.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    places[order[i]] = i;
    sorted.push_back(std::move(rows[order[i]]));
  }
  rows = std::move(sorted);
  return places;
}

std::uint32_t place_of(const std::vector<std::uint32_t>& places, std::uint32_t number,
                       std::uint32_t none) {
  return number == none ? none : places[number];
}

}  // namespace

template <class Row>
std::uint32_t FrameTables::Rows<Row>::number_of(const std::string& key, const Row& row) {
  const auto [known, is_new] = numbers.try_emplace(key, static_cast<std::uint32_t>(rows.size()));
  if (is_new) rows.push_back(row);
  return known->second;
}

// Where it was mapped differs from process to process.
std::uint32_t FrameTables::module_number(const ModuleFact& module) {
  const std::string key = module.build_id.empty() ? "p" + module.path : "b" + module.build_id;
  const std::uint32_t number = modules_.number_of(key, module);
  ModuleFact& kept = modules_.rows[number];
  kept.path = std::min(kept.path, module.path);
  if (kept.base != module.base) kept.base = 0;
  return number;
}

std::vector<std::uint32_t> FrameTables::add(const Report& report) {
  std::vector<std::uint32_t> modules, sources, codes, frames;
  for (const ModuleFact& module : report.modules) modules.push_back(module_number(module));
  for (const SourceFact& source : report.sources) {
    const std::string key = key_of(source.bytes, source.modified_ns) + source.path;
    sources.push_back(sources_.number_of(key, source));
  }
  for (CodeFact code : report.codes) {
    code.source = sources[code.source];
    codes.push_back(codes_.number_of(key_of(code.source, code.first_line) + code.name, code));
  }
  frames.reserve(report.frames.size());
  for (FrameFact frame : report.frames) {
    frame.module = place_of(modules, frame.module, kNoModule);
    frame.code = place_of(codes, frame.code, kNoCode);
    const std::string key = key_of(frame.module, frame.code, frame.line, frame.offset);
    frames.push_back(frames_.number_of(key, frame));
  }
  return frames;
}

std::vector<std::uint32_t> FrameTables::finish(Report& report) {
  const auto modules = sort_rows(modules_.rows, [](const ModuleFact& a, const ModuleFact& b) {
    return std::tie(a.path, a.build_id) < std::tie(b.path, b.build_id);
  });
  const auto sources = sort_rows(sources_.rows, [](const SourceFact& a, const SourceFact& b) {
    return std::tie(a.path, a.bytes, a.modified_ns) < std::tie(b.path, b.bytes, b.modified_ns);
  });
  for (CodeFact& code : codes_.rows) code.source = sources[code.source];
  const auto codes = sort_rows(codes_.rows, [](const CodeFact& a, const CodeFact& b) {
    return std::tie(a.name, a.source, a.first_line) < std::tie(b.name, b.source, b.first_line);
  });
  for (FrameFact& frame : frames_.rows) {
    frame.module = place_of(modules, frame.module, kNoModule);
    frame.code = place_of(codes, frame.code, kNoCode);
  }
  auto frames = sort_rows(frames_.rows, [](const FrameFact& a, const FrameFact& b) {
    return std::tie(a.module, a.offset, a.code, a.line) <
           std::tie(b.module, b.offset, b.code, b.line);
  });
  report.modules = std::move(modules_.rows);
  report.sources = std::move(sources_.rows);
  report.codes = std::move(codes_.rows);
  report.frames = std::move(frames_.rows);
  return frames;
}

}  // namespace vramscope
