// Suppression files that a fuzzer makes, and their patterns in texts that it makes.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/suppressions.h"

#include "test/fuzz/fuzzed_file.h"

namespace {

// Whether the pattern is found, by trying everything. Both must be short.
bool naive_here(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  if (pattern == "$") return text.empty();
  if (pattern[0] == '*') {
    return naive_here(pattern.substr(1), text) ||
           (!text.empty() && naive_here(pattern, text.substr(1)));
  }
  return !text.empty() && text[0] == pattern[0] && naive_here(pattern.substr(1), text.substr(1));
}
bool naive(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  if (pattern.starts_with('^')) return naive_here(pattern.substr(1), text);
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (naive_here(pattern, text.substr(at))) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace vramscope;
  const FuzzedFile file({bytes, size});
  Suppressions suppressions;
  const std::string problem = suppressions.add_file(file.path());
  if (!problem.empty()) {
    demand_one_line(problem);
    demand_harmless(problem);
    if (!suppressions.rows().empty()) std::abort();
  }
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  static_cast<void>(suppressions.first_in({text}));
  constexpr std::size_t kShort = 12;
  const std::string_view some = std::string_view(text).substr(0, kShort);
  for (const Suppression& row : suppressions.rows()) {
    const std::string_view pattern = row.pattern;
    if (pattern.size() > kShort) continue;
    if (pattern_matches(pattern, some) != naive(pattern, some)) std::abort();
  }
  return 0;
}
