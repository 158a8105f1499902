// Checks indices and tiling.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/references.h"

#include <concepts>
#include <string>

#include "reporter/report/report.h"

namespace vramscope {

namespace {

std::string element(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

// Checks an index into a list of `size` entries.
void check_index(std::uint64_t index, std::size_t size, const std::string& field,
                 const char* list) {
  if (index < size) return;
  throw FieldProblem{field, "expected an index below " + std::to_string(size) + ", the number of " +
                                list + ", found " + std::to_string(index)};
}

// The same of lists that may be long. field: makes the field's name, only for a problem.
template <std::invocable Field>
void check_index(std::uint64_t index, std::size_t size, Field&& field, const char* list) {
  if (index >= size) check_index(index, size, std::string(field()), list);
}

void check_length(std::size_t bytes, std::size_t most, const std::string& field) {
  if (bytes <= most) return;
  throw FieldProblem{
      field, "expected at most " + std::to_string(most) + " bytes, found " + std::to_string(bytes)};
}

// Checks texts that are shown for each frame that refers to them.
void check_lengths(const Report& report) {
  for (std::size_t i = 0; i < report.modules.size(); ++i) {
    const std::string module = element("modules", i);
    check_length(report.modules[i].path.size(), kLongestText, module + ".path");
    check_length(report.modules[i].build_id.size(), kMostBuildIdDigits, module + ".build_id");
  }
  for (std::size_t i = 0; i < report.sources.size(); ++i) {
    check_length(report.sources[i].path.size(), kLongestText, element("sources", i) + ".path");
  }
  for (std::size_t i = 0; i < report.codes.size(); ++i) {
    check_length(report.codes[i].name.size(), kLongestText, element("codes", i) + ".name");
  }
}

// Checks that frames are sorted and unique.
void check_symbols(const SymbolFacts& symbols, std::size_t frames) {
  const auto check_texts = [](const std::vector<std::string>& texts, const char* list) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      check_length(texts[i].size(), kLongestText, element(list, i));
    }
  };
  check_texts(symbols.names, "symbols.names");
  check_texts(symbols.files, "symbols.files");
  for (std::size_t i = 0; i < symbols.frames.size(); ++i) {
    const FrameSymbols& named = symbols.frames[i];
    const std::string field = element("symbols.frames", i);
    check_index(named.frame, frames, field + ".frame", "frames");
    if (i != 0 && named.frame <= symbols.frames[i - 1].frame) {
      throw FieldProblem{field + ".frame", "expected frames in their order, each once"};
    }
    if (named.functions.size() > kMostFunctionsOfFrame) {
      throw FieldProblem{field + ".functions",
                         "expected at most " + std::to_string(kMostFunctionsOfFrame)};
    }
    for (const FunctionSymbol& function : named.functions) {
      check_index(function.name, symbols.names.size(), field + ".functions.name", "names");
      if (function.file == kNoFile) continue;
      check_index(function.file, symbols.files.size(), field + ".functions.file", "files");
    }
  }
}

void check_blocks(const SegmentFacts& segment, const std::string& field, std::size_t sites) {
  std::uint64_t left = segment.total_size;
  Address next = segment.address;
  for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
    const BlockFacts& block = segment.blocks[i];
    if (block.address != next || block.size > left) {
      throw FieldProblem{element(field + ".blocks", i),
                         "expected to begin at " + std::to_string(next) + " and to end within " +
                             std::to_string(left) + " bytes"};
    }
    if (block.site >= 0) {
      check_index(
          static_cast<std::uint64_t>(block.site), sites,
          [&] { return element(field + ".blocks", i) + ".site"; }, "sites");
    }
    next += block.size;
    left -= block.size;
  }
  if (!segment.blocks.empty() && left != 0) {
    throw FieldProblem{field + ".blocks", "expected to fill the segment, " + std::to_string(left) +
                                              " bytes are missing"};
  }
}

void check_segments(const std::vector<SegmentFacts>& segments, const std::string& field,
                    std::size_t sites) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    check_blocks(segments[i], element(field, i), sites);
  }
}

void check_site(std::int64_t site, std::size_t sites, const std::string& field) {
  if (site >= 0) check_index(static_cast<std::uint64_t>(site), sites, field + ".site", "sites");
}

// Checks a report, or a merged process, which `within` names.
void check_events(const std::vector<OomEvent>& events, const std::string& within,
                  std::size_t sites) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::string field = within + element("oom.events", i);
    check_site(events[i].site, sites, field);
    check_site(events[i].served_site, sites, field + ".served");
    for (const OomShare& share : events[i].shares) check_site(share.site, sites, field + ".shares");
    for (const OomPin& pin : events[i].pins) check_site(pin.site, sites, field + ".pins");
  }
}

// Checks sites or threads.
template <class Row>
void check_frames(const std::vector<Row>& rows, const char* list, std::size_t frames) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const std::uint32_t frame : rows[i].frames) {
      check_index(
          frame, frames, [&] { return element(list, i) + ".frames"; }, "frames");
    }
  }
}

void check_peak_site(std::int64_t site, const std::string& field, std::size_t sites) {
  if (site < 0) return;
  check_index(static_cast<std::uint64_t>(site), sites, field + ".peak_site", "sites");
}

// Checks a report or a merged process.
template <class Facts>
void check_peaks(const Facts& facts, const std::string& within, std::size_t sites) {
  for (std::size_t i = 0; i < facts.kinds.size(); ++i) {
    check_peak_site(facts.kinds[i].peak_site, within + element("kinds", i), sites);
  }
  for (std::size_t i = 0; i < facts.joint_peaks.size(); ++i) {
    const std::string field = within + element("joint_peaks", i);
    check_peak_site(facts.joint_peaks[i].facts.peak_site, field, sites);
    for (const OomShare& share : facts.joint_peaks[i].shares) {
      check_site(share.site, sites, field + ".live");
    }
  }
}

}  // namespace

void check_references(const Report& report) {
  if (report.devices.size() > kMaxDevices) {
    throw FieldProblem{"devices", "expected at most " + std::to_string(kMaxDevices) + ", found " +
                                      std::to_string(report.devices.size())};
  }
  check_lengths(report);
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    check_segments(report.devices[i].segments, element("devices", i) + ".segments",
                   report.sites.size());
  }
  check_segments(report.host.segments, "host.segments", report.sites.size());
  check_segments(report.host.registrations, "host.registrations", report.sites.size());
  check_peaks(report, "", report.sites.size());
  check_events(report.oom.events, "", report.sites.size());
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const MergedProcess& process = report.processes[i];
    const std::string field = element("processes", i);
    check_peaks(process, field + ".", report.sites.size());
    check_events(process.oom.events, field + ".", report.sites.size());
    for (const LiveShare& share : process.live) {
      check_site(share.site, report.sites.size(), field + ".live");
    }
  }
  for (std::size_t i = 0; i < report.codes.size(); ++i) {
    check_index(
        report.codes[i].source, report.sources.size(),
        [&] { return element("codes", i) + ".source"; }, "sources");
  }
  for (std::size_t i = 0; i < report.frames.size(); ++i) {
    const FrameFact& frame = report.frames[i];
    if (frame.module != kNoModule) {
      check_index(
          frame.module, report.modules.size(), [&] { return element("frames", i) + ".module"; },
          "modules");
    }
    if (frame.code != kNoCode) {
      check_index(
          frame.code, report.codes.size(), [&] { return element("frames", i) + ".code"; }, "codes");
    }
  }
  check_frames(report.sites, "sites", report.frames.size());
  check_frames(report.threads, "threads", report.frames.size());
  if (report.symbols) check_symbols(*report.symbols, report.frames.size());
}

}  // namespace vramscope
