// Shortens the names of callers.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/caller_names.h"

#include <algorithm>
#include <string_view>

#include "reporter/report/symbols.h"
#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

constexpr std::size_t kMostOfAName = 36;  // columns; two callers then fit a page

// "load_model.<listcomp>" of Python's "load_model.<locals>.<listcomp>".
std::string without_locals(std::string name) {
  constexpr std::string_view kLocals = ".<locals>";
  for (std::size_t at; (at = name.find(kLocals)) != std::string::npos;) {
    name.erase(at, kLocals.size());
  }
  return name;
}

std::string cut_name(const std::string& function, std::size_t width) {
  constexpr std::string_view kCut = "<...>";
  if (columns(function) <= width || function.find('<') == std::string::npos) {
    return shortened(function, width);
  }
  std::string name = shorten(function, width);
  for (std::size_t at; columns(name) > width && (at = name.rfind(kCut)) != std::string::npos;) {
    name.erase(at, kCut.size());  // half of it would read as something else
  }
  return shortened(name, width);
}

}  // namespace

std::string times_text(const Caller& caller) {
  return caller.times < 2 ? "" : " \u00d7 " + std::to_string(caller.times);
}

std::string function_name(const Caller& caller, std::size_t width) {
  const std::string times = times_text(caller);
  const std::size_t taken = std::min(width, columns(times));
  return cut_name(without_locals(caller.function), width - taken) + times;
}

std::string text(const CallSite& site) {
  if (site.callers.empty()) return "unknown";
  std::string result;
  for (const Caller& caller : site.callers) {
    if (!result.empty()) result += " < ";
    result += text(Caller{.function = cut_name(caller.function, kMostOfAName) + times_text(caller),
                          .place = caller.place});
  }
  return result;
}

}  // namespace vramscope
