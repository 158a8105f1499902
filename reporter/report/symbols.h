// Symbols finds functions, files and lines behind a report's frames. It is the tool's alone: the
// preloaded library neither needs nor links it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "reporter/ground/facts.h"
#include "reporter/report/resolved_frame.h"

namespace vramscope {

struct Report;

// Opens each file once, on first use, and keeps its last answers. Separate debug files are found
// as elfutils finds them: by build id, by .gnu_debuglink, and from DEBUGINFOD_URLS if that is set.
// An object that is gone or was replaced since the run is looked for by its build id in the same
// way. Threads: one. Never throws but bad_alloc.
class Symbols {
 public:
  // cache_folder: where answers are kept from run to run (symbol_cache.h); "": nowhere.
  explicit Symbols(const std::string& cache_folder = "");
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // `offset`: of a return address, from the load bias of `module`. build_id "": not checked. The
  // answer is good until the next call.
  const ResolvedFrame& resolve(const ModuleFact& module, std::uint64_t offset);
  // The same for a frame of a report. `frame` is one of report.frames.
  const ResolvedFrame& resolve(const Report& report, const FrameFact& frame);

  // How many modules had to be opened or searched for.
  [[nodiscard]] std::size_t opened() const;

 private:
  class Module;
  struct State;
  std::unique_ptr<State> state_;
};

// "f(int)" of "_Z1fi", "core::fmt::write" of Rust's names, the legacy ones and those of version 0;
// anything that is no mangled name, or would be longer than kLongestName, as it is.
inline constexpr std::size_t kLongestName = std::size_t{1} << 16;
[[nodiscard]] std::string demangle(const std::string& name);

// A C++ name without result type and parameters:
// "void std::vector<int, A>::push_back(int const&)" -> "std::vector<int, A>::push_back".
[[nodiscard]] std::string without_signature(std::string_view function);
// The same with template arguments cut to "<...>": "std::vector<...>::push_back". Names of Python
// such as "load.<lambda>" stay.
[[nodiscard]] std::string shorten(std::string_view function);
// The same in at most `most` bytes where that is possible, with as much of the template arguments
// as finds room: "std::vector<int, std::al..tor<int> >::push_back".
[[nodiscard]] std::string shorten(std::string_view function, std::size_t most);

}  // namespace vramscope
