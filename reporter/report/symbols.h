// Symbols finds functions, files and lines of a report's frames. Only the tool uses it; the
// preloaded library neither needs nor links it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "reporter/base/facts.h"
#include "reporter/report/resolved_frame.h"

namespace vramscope {

struct Report;

// Opens each file once, on first use, and keeps its latest answers. Separate debug files are found
// as elfutils finds them: by build id, by .gnu_debuglink, and from DEBUGINFOD_URLS if that is set.
// An object that is gone or was replaced since the run is looked for by its build id in the same
// way. Threads: one. Never throws except bad_alloc.
class Symbols {
 public:
  // cache_folder: where answers are kept between runs (symbol_cache.h); "": nowhere.
  explicit Symbols(const std::string& cache_folder = "");
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // Resolves a frame. offset: of a return address, from the load bias of `module`. An empty
  // build_id is not checked. The answer is valid until the next call.
  const ResolvedFrame& resolve(const ModuleFact& module, std::uint64_t offset);
  // Resolves a frame of a report. frame: an element of report.frames.
  const ResolvedFrame& resolve(const Report& report, const FrameFact& frame);

  // Returns how many modules had to be opened or searched for.
  [[nodiscard]] std::size_t opened() const;

 private:
  class Module;
  struct State;
  std::unique_ptr<State> state_;
};

// Returns "f(int)" for "_Z1fi" and "core::fmt::write" for Rust's names, legacy ones and those of
// version 0. A text that is not a mangled name, or whose name would be longer than kLongestName, is
// returned unchanged.
inline constexpr std::size_t kLongestName = std::size_t{1} << 16;
[[nodiscard]] std::string demangle(const std::string& name);

// Returns a C++ name without result type and parameters:
// "void std::vector<int, A>::push_back(int const&)" -> "std::vector<int, A>::push_back".
[[nodiscard]] std::string without_signature(std::string_view function);
// Returns it with template arguments cut to "<...>": "std::vector<...>::push_back". Python's names
// such as "load.<lambda>" are not changed.
[[nodiscard]] std::string shorten(std::string_view function);
// Returns it in at most `most` bytes if possible, with as much of the template arguments as fits:
// "std::vector<int, std::al..tor<int> >::push_back".
[[nodiscard]] std::string shorten(std::string_view function, std::size_t most);

}  // namespace vramscope
