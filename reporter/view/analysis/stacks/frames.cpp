// The call stack of a site as a person reads it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/frames.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "reporter/report/report.h"
#include "reporter/report/symbol_cache.h"
#include "reporter/report/symbol_table.h"
#include "reporter/view/system/perf_map.h"
#include "reporter/view/system/source_lines.h"

namespace vramscope {

// What of a frame is the same in every stack that it is in.
struct FrameRole {
  std::string entry = {};  // the CUDA function that it names, "" none
  bool is_cuda = false;
  bool is_loader = false;
  bool is_start = false;
  std::vector<bool> is_entry = {};  // of each of its functions, or of the frame without names
};

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

// It runs constructors and opens libraries for whoever asked.
bool is_loader(const Report& report, const FrameFact& frame) {
  return frame.module < report.modules.size() &&
         base_name(report.modules[frame.module].path).starts_with("ld-linux");
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

std::string place_in_module(const Report& report, const FrameFact& frame) {
  std::array<char, 32> offset{};
  std::snprintf(offset.data(), offset.size(), "0x%" PRIx64, frame.offset);
  if (frame.module >= report.modules.size()) return offset.data();
  return std::string(base_name(report.modules[frame.module].path)) + "+" + offset.data();
}

Caller caller_of(const Report& report, const FrameFact& frame, const SourceFrame& name) {
  const std::string line = name.line > 0 ? ":" + std::to_string(name.line) : "";
  Caller caller{.function = name.is_python ? name.function : without_signature(name.function),
                .place = std::string(base_name(name.file)),
                .line = name.text,
                .full = name.function,
                .path = name.file,
                .is_inlined = name.is_inlined};
  if (!name.file.empty()) {
    caller.place += line;
    caller.path += line;
  }
  if (name.is_python) return caller;
  caller.at = place_in_module(report, frame);
  if (frame.module < report.modules.size()) caller.module = report.modules[frame.module].path;
  return caller;
}

Caller caller_without_name(const Report& report, const FrameFact& frame) {
  Caller caller = caller_of(report, frame, {});
  caller.full = caller.function = caller.at;
  return caller;
}

// Of a Python frame.
SourceFrame python_name(const Report& report, const FrameFact& frame) {
  const CodeFact& code = report.codes[frame.code];
  return {.function = code.name,
          .file = report.sources[code.source].path,
          .line = static_cast<std::int32_t>(frame.line),
          .is_inlined = false,
          .is_python = true,
          .text = {}};
}

// What a frame is named, innermost first: its functions, or the place in its module.
std::vector<SourceFrame> names_of(const Report& report, const FrameFact& frame,
                                  const NameFrame& name) {
  std::vector<SourceFrame> names;
  if (name) names = name(report, frame);
  if (names.empty() && frame.code != kNoCode) names = {python_name(report, frame)};
  std::erase_if(names, [](const SourceFrame& n) { return n.function.empty(); });
  return names;
}

// Whether everything at the frame belongs to CUDA; remembers the entry in `entry`.
bool is_cuda_frame(const Report& report, const FrameFact& frame,
                   const std::vector<SourceFrame>& names, std::string& entry) {
  if (frame.code != kNoCode) return false;
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

FrameRole role_in_stacks(const Report& report, const FrameFact& frame,
                         const std::vector<SourceFrame>& names) {
  FrameRole role;
  role.is_cuda = is_cuda_frame(report, frame, names, role.entry);
  role.is_loader = is_loader(report, frame);
  role.is_start = !names.empty() && !names.front().is_python && is_start(names.front().function);
  for (const SourceFrame& name : names) {
    role.is_entry.push_back(!name.is_python && is_cuda_entry(name.function));
  }
  if (names.empty()) role.is_entry = {false};
  return role;
}

// The caller that the function of this index is.
Caller caller_at(const Report& report, const FrameFact& frame,
                 const std::vector<SourceFrame>& names, std::size_t function) {
  return names.empty() ? caller_without_name(report, frame)
                       : caller_of(report, frame, names[function]);
}

// Calls `add` with the frame and the function of each caller, innermost first; gives the entry.
template <class RoleOf, class Add>
std::string walk(const Report& report, const Site& site, std::size_t most, const RoleOf& role_of,
                 const Add& add) {
  std::string entry;
  bool outside = false;
  std::size_t callers = 0;
  for (const std::uint32_t index : site.frames) {
    if (index >= report.frames.size() || callers >= most) break;
    const FrameRole& role = role_of(index);
    if (!outside && !role.entry.empty()) entry = role.entry;
    outside = outside || !role.is_cuda;
    if (!outside || role.is_loader) continue;
    if (callers != 0 && role.is_start) break;
    for (std::size_t i = 0; i < role.is_entry.size() && callers < most; ++i) {
      // An inlined wrapper such as cudaMalloc<float> is still CUDA's.
      if (callers == 0 && role.is_entry[i]) continue;
      add(index, i);
      ++callers;
    }
  }
  return entry;
}

}  // namespace

std::string without_line(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const bool is_line = colon != std::string::npos && colon + 1 < place.size() &&
                       std::all_of(place.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                   place.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_line ? place.substr(0, colon) : place;
}

// What the report itself tells of one of its frames.
static const FrameSymbols* told_of(const Report& report, const FrameFact& frame) {
  const FrameFact* const first = report.frames.data();
  const bool is_its_own =
      std::less_equal<>()(first, &frame) && std::less<>()(&frame, first + report.frames.size());
  return is_its_own ? symbols_of_frame(report, static_cast<std::uint32_t>(&frame - first))
                    : nullptr;
}

// Lines are known, or no file can be proved to be the one that ran: nothing better is found here.
static bool is_enough(const Report& report, const FrameFact& frame, const FrameSymbols& told) {
  return report.modules[frame.module].build_id.empty() ||
         std::any_of(told.functions.begin(), told.functions.end(),
                     [](const FunctionSymbol& one) { return one.file != kNoFile; });
}

NameFrame names_from_symbols(Stacks shown) {
  auto symbols = std::make_shared<Symbols>(symbol_cache_folder());
  auto generated = std::make_shared<std::optional<PerfMap>>();
  auto lines = std::make_shared<SourceLines>();
  NameFrame result = [symbols, generated, lines](
                         const Report& report, const FrameFact& frame) -> std::vector<SourceFrame> {
    if (frame.code != kNoCode) {
      SourceFrame named = python_name(report, frame);
      named.text = lines->line(report.sources[report.codes[frame.code].source], frame.line,
                               report.sources_shown);
      return {named};
    }
    if (frame.module < report.modules.size()) {
      const FrameSymbols* const told = told_of(report, frame);
      if (told != nullptr && is_enough(report, frame, *told)) return functions_of(report, *told);
      const ResolvedFrame& found = symbols->resolve(report, frame);
      if (told != nullptr && found.functions.empty()) return functions_of(report, *told);
      if (found.state != SymbolState::replaced) return found.functions;
      return {{.function = place_in_module(report, frame), .file = std::string(kReplaced)}};
    }
    if (!*generated) generated->emplace(report.process.pid);
    SourceFrame named{.function = (*generated)->name_of(frame.offset), .file = ""};
    if (named.function.empty()) return {};
    return {named};
  };
  result.in_full = shown == Stacks::in_full;
  return result;
}

CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                   std::size_t most) {
  CallSite result;
  std::vector<SourceFrame> names;
  FrameRole role;
  const auto role_of = [&](std::uint32_t index) -> const FrameRole& {
    names = names_of(report, report.frames[index], name);
    return role = role_in_stacks(report, report.frames[index], names);
  };
  result.entry = walk(report, site, most, role_of, [&](std::uint32_t index, std::size_t function) {
    result.callers.push_back(caller_at(report, report.frames[index], names, function));
  });
  return result;
}

struct NumberedCallers::Frame {
  FrameRole role;
  std::vector<std::uint32_t> callers = {};
};

NumberedCallers::NumberedCallers(const Report& report, const NameFrame& name, Number number)
    : report_(report), name_(name), number_(std::move(number)), frames_(report.frames.size()) {}
NumberedCallers::~NumberedCallers() = default;

const NumberedCallers::Frame& NumberedCallers::frame(std::uint32_t index) {
  std::unique_ptr<Frame>& known = frames_[index];
  if (known) return *known;
  const FrameFact& fact = report_.frames[index];
  const std::vector<SourceFrame> names = names_of(report_, fact, name_);
  known = std::make_unique<Frame>(Frame{.role = role_in_stacks(report_, fact, names)});
  for (std::size_t i = 0; i < known->role.is_entry.size(); ++i) {
    known->callers.push_back(number_(caller_at(report_, fact, names, i)));
  }
  return *known;
}

std::vector<std::uint32_t> NumberedCallers::of(const Site& site, std::size_t most) {
  std::vector<std::uint32_t> callers;
  callers.reserve(std::min(most, site.frames.size()));
  walk(
      report_, site, most,
      [&](std::uint32_t index) -> const FrameRole& { return frame(index).role; },
      [&](std::uint32_t index, std::size_t function) {
        callers.push_back(frames_[index]->callers[function]);
      });
  return callers;
}

CudaFrames cuda_frames(const Report& report, const Site& site, const NameFrame& name) {
  CudaFrames found;
  for (const std::uint32_t index : site.frames) {
    if (index >= report.frames.size()) break;
    const FrameFact& frame = report.frames[index];
    const FrameRole role = role_in_stacks(report, frame, names_of(report, frame, name));
    if (!role.is_cuda) break;
    ++found.count;
    if (!role.entry.empty()) found.entry = role.entry;
  }
  return found;
}

std::string source_line(const CallSite& site) {
  return site.callers.empty() ? "" : site.callers.front().line;
}

std::string text(const Caller& caller) {
  return caller.place.empty() ? caller.function : caller.function + " (" + caller.place + ")";
}

std::string listed_text(const Caller& caller, const NameFrame& name) {
  if (!name.in_full) return text(caller);
  const std::string& function = full_name(caller);
  if (!caller.path.empty()) return function + " (" + caller.path + ")";
  return caller.module.empty() ? function : function + " (in " + caller.module + ")";
}

}  // namespace vramscope
