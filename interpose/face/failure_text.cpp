// SPDX-License-Identifier: Apache-2.0
#include "interpose/face/failure_text.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "interpose/base/guard.h"

namespace vramscope {
namespace {

struct NewSite {
  std::uint64_t bytes = 0;  // requested, of blocks that are live now
  std::uint64_t allocations = 0;
  bool made_peak = false;  // the most new bytes were reached here
};

constexpr std::size_t kMostSites = 10;
constexpr const char* kUnknown = "unknown call site";
constexpr std::size_t kMostFrames = 3;  // of a stack in one line

struct Free {
  void operator()(char* text) const { std::free(text); }
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_runtime(std::string_view module) {
  const std::string_view name = file_name(module);
  return name.starts_with("libcudart.so") || name.starts_with("libcuda.so");
}

// "allocate (app+0x1234)", or without a name, which only functions have that their object exports.
std::string native_text(const ModuleFact& module, std::uint64_t offset) {
  std::ostringstream place;
  place << file_name(module.path) << "+0x" << std::hex << offset;
  Dl_info info;
  // The address before the return address belongs to the call.
  const auto* const address = reinterpret_cast<const void*>(module.base + offset - 1);
  const bool is_known = dladdr(address, &info) != 0 && info.dli_sname != nullptr &&
                        file_name(info.dli_fname) == file_name(module.path);
  if (!is_known) return place.str();
  int status = 0;
  const std::unique_ptr<char, Free> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status));
  return std::string(name ? name.get() : info.dli_sname) + " (" + place.str() + ")";
}

std::string python_text(const RecorderFacts& names, const FrameFact& frame) {
  const CodeFact& code = names.codes[frame.code];
  const std::string_view file = file_name(names.sources[code.source].path);
  return code.name + " (" + std::string(file) + ":" + std::to_string(frame.line) + ")";
}

// Code between a test and what it calls, which explains nothing.
bool is_of_test_runner(const RecorderFacts& names, const FrameFact& frame) {
  const std::string_view path = names.sources[names.codes[frame.code].source].path;
  const auto has = [path](const char* part) { return path.find(part) != path.npos; };
  return has("/_pytest/") || has("/pluggy/") || has("/unittest/") ||
         path.ends_with("/contextlib.py") || path.ends_with("/vramscope.py");
}

// Returns "" for a frame that explains nothing. Where there are frames of Python, native ones
// belong to its interpreter and libraries.
std::string frame_text(const RecorderFacts& names, const FrameFact& frame, bool has_python) {
  if (frame.code != kNoCode)
    return is_of_test_runner(names, frame) ? "" : python_text(names, frame);
  if (has_python || frame.module == kNoModule) return "";
  const ModuleFact& module = names.modules[frame.module];
  return is_runtime(module.path) ? "" : native_text(module, frame.offset);
}

std::string stack_text(const RecorderFacts& names, const SiteFact& site) {
  const bool has_python =
      std::any_of(site.frames.begin(), site.frames.end(),
                  [&](std::uint32_t index) { return names.frames[index].code != kNoCode; });
  std::string text;
  std::size_t shown = 0;
  for (const std::uint32_t index : site.frames) {
    const std::string frame = frame_text(names, names.frames[index], has_python);
    if (frame.empty()) continue;
    text += (shown == 0 ? "" : " < ") + frame;
    if (++shown == kMostFrames) break;
  }
  return text.empty() ? kUnknown : text;
}

using BySite = std::map<std::uint32_t, NewSite>;

BySite count_new(const Snapshot& snapshot, const RecorderFacts& names, const DeviceWatch& watch) {
  BySite sites;
  const auto site_of = [&](Tag tag) {
    return tag < names.tags.size() ? names.tags[tag].site : kUnknownSite;
  };
  for (const SegmentSnapshot& segment : snapshot.segments) {
    if (!watch.covers(segment.place)) continue;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const BlockSnapshot& block = snapshot.blocks[segment.first_block + i];
      if (block.state != BlockState::active_allocated || block.born <= watch.since) continue;
      NewSite& site = sites[site_of(block.tag)];
      site.bytes += block.requested_size;
      ++site.allocations;
    }
  }
  if (watch.new_peak_bytes > 0) sites[site_of(watch.new_peak_tag)].made_peak = true;
  return sites;
}

// "48.0 MiB": three digits and a unit.
std::string rounded_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 999.5 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  std::ostringstream text;
  const int decimals = unit == 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  text << std::fixed << std::setprecision(decimals) << size << " " << kUnits[unit];
  return text.str();
}

// "; 48.0 MiB at the peak, above max_peak of 32.0 MiB", or "" if the limit holds. Both in bytes
// where rounding hides the difference.
std::string limit_text(std::uint64_t used, const char* what, const char* name, std::int64_t limit) {
  if (limit < 0 || used <= static_cast<std::uint64_t>(limit)) return "";
  const auto most = static_cast<std::uint64_t>(limit);
  const bool is_close = rounded_text(used) == rounded_text(most);
  const auto text = [&](std::uint64_t bytes) {
    return is_close ? std::to_string(bytes) + " bytes" : rounded_text(bytes);
  };
  return "; " + text(used) + " " + what + ", above " + name + " of " + text(most);
}

std::string limits_text(const Expectations::Ended& ended) {
  const auto& [limits, used] = ended;
  std::string text =
      limit_text(used.new_peak_bytes, "new at one time", "max_new_bytes", limits.new_bytes) +
      limit_text(used.peak_bytes, "at the peak", "max_peak", limits.peak_bytes) +
      limit_text(used.new_bytes, "not freed", "leaks", limits.leaked_bytes);
  return "GPU " + std::to_string(used.device) + ": " + text.substr(2);
}

std::string site_text(const NewSite& site, const std::string& stack) {
  if (site.bytes == 0) return "  the most new bytes were reached by " + stack;
  const std::string allocations = site.allocations == 1 ? " allocation" : " allocations";
  return "  " + rounded_text(site.bytes) + " not freed, in " + std::to_string(site.allocations) +
         allocations + " by " + stack +
         (site.made_peak ? ", which reached the most new bytes" : "");
}

}  // namespace

std::vector<std::string> failure_text(Profiler& profiler, const Expectations::Ended& ended) {
  const CallGuard guard;
  const Snapshot snapshot = profiler.allocator().snapshot();
  const RecorderFacts names = profiler.recorder().names({});
  const BySite by_site = count_new(snapshot, names, ended.used);
  std::vector<std::pair<std::uint32_t, NewSite>> sorted(by_site.begin(), by_site.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  std::vector<std::string> lines{limits_text(ended)};
  for (const auto& [number, site] : sorted) {
    if (lines.size() > kMostSites && !site.made_peak) continue;
    const bool is_known = number < names.sites.size();
    lines.push_back(site_text(site, is_known ? stack_text(names, names.sites[number]) : kUnknown));
  }
  return lines;
}

}  // namespace vramscope
