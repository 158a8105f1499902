// Compares stacks by what their frames are, since each file numbers them anew.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/replay/trace_sites.h"

#include <string>
#include <unordered_map>

namespace vramscope {
namespace {

// Of a report and of a trace's facts, which have the same lists.
template <class Lists>
std::string key_of(const Lists& lists, const FrameFact& frame) {
  std::string key;
  if (frame.code < lists.codes.size()) {
    const CodeFact& code = lists.codes[frame.code];
    if (code.source < lists.sources.size()) key += lists.sources[code.source].path;
    key += '\n' + code.name + '\n' + std::to_string(frame.line) + '\n';
  }
  if (frame.module < lists.modules.size()) key += lists.modules[frame.module].path;
  return key + '\n' + std::to_string(frame.offset) + '\0';
}

template <class Lists>
std::string key_of(const Lists& lists, const std::vector<std::uint32_t>& frames) {
  std::string key;
  for (const std::uint32_t frame : frames) {
    if (frame < lists.frames.size()) key += key_of(lists, lists.frames[frame]);
  }
  return key;
}

}  // namespace

std::vector<std::int64_t> sites_in_report(const Report& report, const TraceNames& names) {
  std::unordered_map<std::string, std::int64_t> known;
  for (std::size_t i = 0; i < report.sites.size(); ++i) {
    if (report.sites[i].frames.empty()) continue;
    known.try_emplace(key_of(report, report.sites[i].frames), static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> sites(names.facts.sites.size(), -1);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (names.facts.sites[i].frames.empty()) continue;
    const auto found = known.find(key_of(names.facts, names.facts.sites[i].frames));
    if (found != known.end()) sites[i] = found->second;
  }
  return sites;
}

}  // namespace vramscope
