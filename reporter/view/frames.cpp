// The call stack of a site as a person reads it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/frames.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string_view>

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

// A function that a program calls: cudaMalloc, cuMemAlloc_v2, cudaMalloc<float>.
bool is_cuda_entry(std::string_view function) {
  const std::size_t prefix = function.starts_with("cuda") ? 4 : function.starts_with("cu") ? 2 : 0;
  return prefix != 0 && function.size() > prefix && is_upper(function[prefix]);
}

// A function of the runtime that is linked into the program.
bool is_linked_runtime(std::string_view function) {
  return function.starts_with("libcudart_static_") || function.starts_with("cudart::") ||
         function.starts_with("__cudart");
}

std::string place_in_module(const Report& report, const FrameFact& frame) {
  std::array<char, 32> offset{};
  std::snprintf(offset.data(), offset.size(), "0x%" PRIx64, frame.offset);
  if (frame.module >= report.modules.size()) return offset.data();
  return std::string(base_name(report.modules[frame.module].path)) + "+" + offset.data();
}

std::string line_of(const SourceFrame& name) {
  std::string result = shorten(name.function);
  if (name.file.empty()) return result;
  result += " (";
  result += base_name(name.file);
  if (name.line != 0) result += ":" + std::to_string(name.line);
  return result + ")";
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
    if (is_cuda_entry(name.function)) {
      entry = name.function.substr(0, name.function.find_first_of("<("));
    } else if (!is_linked_runtime(name.function)) {
      all = false;
    }
  }
  return in_module || all;
}

}  // namespace

NameFrame names_from_symbols() {
  auto symbols = std::make_shared<Symbols>();
  return [symbols](const Report& report, const FrameFact& frame) {
    return symbols->resolve(report, frame).functions;
  };
}

CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                   std::size_t most) {
  CallSite result;
  bool outside = false;
  for (const std::uint32_t index : site.frames) {
    if (index >= report.frames.size() || result.frames.size() >= most) break;
    const FrameFact& frame = report.frames[index];
    const std::vector<SourceFrame> names = names_of(report, frame, name);
    outside = outside || !is_cuda_frame(report, frame, names, result.entry);
    if (!outside) continue;
    for (const SourceFrame& function : names) {
      // An inlined wrapper such as cudaMalloc<float> is still CUDA's.
      if (result.frames.empty() && is_cuda_entry(function.function)) continue;
      if (result.frames.size() < most) result.frames.push_back(line_of(function));
    }
    if (names.empty()) result.frames.push_back(place_in_module(report, frame));
  }
  return result;
}

std::string text(const CallSite& site) {
  if (site.frames.empty()) return "unknown";
  std::string result;
  for (const std::string& frame : site.frames) {
    if (!result.empty()) result += " < ";
    result += frame;
  }
  return result;
}

}  // namespace vramscope
