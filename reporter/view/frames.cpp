// The call stack of a site as a person reads it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/frames.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "reporter/view/format.h"
#include "reporter/view/perf_map.h"

namespace vramscope {
namespace {

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

// Libraries between the program and the driver, and ours.
bool is_cuda_module(std::string_view path) {
  constexpr std::string_view kNames[] = {"libcuda.so", "libcudart.so", "libvramscope.so",
                                         "libnvidia-"};
  const std::string_view name = base_name(path);
  for (const std::string_view begin : kNames) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

// "cudart::enter<...>" of "cudaError cudart::enter<...>(void**)": templates bear their result type.
std::string_view without_result(std::string_view function) {
  const std::string_view name = function.substr(0, function.find_first_of("<("));
  const std::size_t space = name.rfind(' ');
  return space == std::string_view::npos ? function : function.substr(space + 1);
}

// A function that a program calls: cudaMalloc, cuMemAlloc_v2, cudaMalloc<float>.
bool is_cuda_entry(std::string_view function) {
  function = without_result(function);
  const std::size_t prefix = function.starts_with("cuda") ? 4 : function.starts_with("cu") ? 2 : 0;
  return prefix != 0 && function.size() > prefix && is_upper(function[prefix]);
}

// A function of the runtime that is linked into the program.
bool is_linked_runtime(std::string_view function) {
  function = without_result(function);
  return function.starts_with("libcudart_static_") || function.starts_with("cudart::") ||
         function.starts_with("__cudart");
}

// Where every program or thread begins: behind these no frame tells anything.
bool is_start(std::string_view function) {
  constexpr std::string_view kStarts[] = {
      "__libc_start_call_main", "__libc_start_main", "_start", "start_thread", "clone3", "clone"};
  for (const std::string_view start : kStarts) {
    if (function.substr(0, function.find('@')) == start) return true;
  }
  return false;
}

constexpr std::size_t kMostOfAName = 36;  // columns; two callers then fit a page

std::string end_of(const std::string& name, std::size_t width) {
  std::string_view rest = name;
  if (columns(rest) <= width) return name;
  while (columns(rest) > width - 2) (void)take_code_point(rest);
  return ".." + std::string(rest);
}

std::string place_in_module(const Report& report, const FrameFact& frame) {
  std::array<char, 32> offset{};
  std::snprintf(offset.data(), offset.size(), "0x%" PRIx64, frame.offset);
  if (frame.module >= report.modules.size()) return offset.data();
  return std::string(base_name(report.modules[frame.module].path)) + "+" + offset.data();
}

Caller caller_of(const SourceFrame& name) {
  Caller caller{.function = shorten(name.function), .place = std::string(base_name(name.file))};
  if (!caller.place.empty() && name.line > 0) caller.place += ":" + std::to_string(name.line);
  return caller;
}

// What a frame is named, innermost first: its functions, or the place in its module.
std::vector<SourceFrame> names_of(const Report& report, const FrameFact& frame,
                                  const NameFrame& name) {
  std::vector<SourceFrame> names;
  if (name) names = name(report, frame);
  std::erase_if(names, [](const SourceFrame& n) { return n.function.empty(); });
  return names;
}

// Whether everything at the frame belongs to CUDA; remembers the entry in `entry`.
bool is_cuda_frame(const Report& report, const FrameFact& frame,
                   const std::vector<SourceFrame>& names, std::string& entry) {
  const bool in_module =
      frame.module < report.modules.size() && is_cuda_module(report.modules[frame.module].path);
  bool all = !names.empty();
  for (const SourceFrame& name : names) {
    const bool is_linked = is_linked_runtime(name.function);
    std::string_view function = without_result(name.function);
    function = function.substr(0, function.find_first_of("<("));
    // The body of a linked runtime's function: "cudart::runtime::cudaMalloc".
    if (is_linked) function.remove_prefix(function.rfind(':') + 1);
    if (is_cuda_entry(function)) {
      entry = function;
    } else if (!is_linked) {
      all = false;
    }
  }
  return in_module || all;
}

}  // namespace

NameFrame names_from_symbols() {
  auto symbols = std::make_shared<Symbols>();
  auto generated = std::make_shared<std::optional<PerfMap>>();
  return [symbols, generated](const Report& report,
                              const FrameFact& frame) -> std::vector<SourceFrame> {
    if (frame.module < report.modules.size()) {
      const ResolvedFrame& found = symbols->resolve(report, frame);
      if (found.state != SymbolState::replaced) return found.functions;
      return {{.function = place_in_module(report, frame), .file = "replaced"}};
    }
    if (!*generated) generated->emplace(report.process.pid);
    SourceFrame named{.function = (*generated)->name_of(frame.offset), .file = ""};
    if (named.function.empty()) return {};
    return {named};
  };
}

CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                   std::size_t most) {
  CallSite result;
  bool outside = false;
  for (const std::uint32_t index : site.frames) {
    if (index >= report.frames.size() || result.callers.size() >= most) break;
    const FrameFact& frame = report.frames[index];
    const std::vector<SourceFrame> names = names_of(report, frame, name);
    outside = outside || !is_cuda_frame(report, frame, names, result.entry);
    if (!outside) continue;
    if (!names.empty() && !result.callers.empty() && is_start(names.front().function)) break;
    for (const SourceFrame& function : names) {
      // An inlined wrapper such as cudaMalloc<float> is still CUDA's.
      if (result.callers.empty() && is_cuda_entry(function.function)) continue;
      if (result.callers.size() < most) result.callers.push_back(caller_of(function));
    }
    if (names.empty()) result.callers.push_back({place_in_module(report, frame), ""});
  }
  return result;
}

std::string text(const Caller& caller) {
  return caller.place.empty() ? caller.function : caller.function + " (" + caller.place + ")";
}

std::string text(const CallSite& site) {
  if (site.callers.empty()) return "unknown";
  std::string result;
  for (const Caller& caller : site.callers) {
    if (!result.empty()) result += " < ";
    result += text(Caller{end_of(caller.function, kMostOfAName), caller.place});
  }
  return result;
}

}  // namespace vramscope
