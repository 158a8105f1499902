// CallSite is the call stack of a site as a person reads it: who called into CUDA, and from where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reporter/report/symbols.h"
#include "reporter/view/analysis/stacks/stacks_shown.h"

namespace vramscope {

struct Report;
struct Site;

// The functions active at a frame, innermost first: those inlined, then the one that was called.
// Empty when the module has no symbols here.
struct NameFrame : std::function<std::vector<SourceFrame>(const Report& report, const FrameFact&)> {
  using function::function;
  bool in_full = false;  // listings for machines tell types, whole paths and modules too
};

// From the modules' symbols on this machine; each is opened once.
[[nodiscard]] NameFrame names_from_symbols(Stacks shown = Stacks::in_rows);

struct Caller {
  std::string function;     // "make_weights<float>", or "train+0x1234" without symbols
  std::string place;        // "train.cpp:42", "" unknown
  std::string line = {};    // what is written there, "" unknown
  std::string full = {};    // with types: "void make_weights<float>(int)"; "" as `function`
  std::string path = {};    // "/src/train.cpp:42", "" unknown
  std::string module = {};  // "/app/train", "" of Python and of generated code
  std::string at = {};      // "train+0x1234", where in its module; "" of Python
  bool is_inlined = false;  // into the next one
  std::size_t times = 1;    // of recursion that is folded
};
[[nodiscard]] inline const std::string& full_name(const Caller& caller) {
  return caller.full.empty() ? caller.function : caller.full;
}
// "train.cpp" of "train.cpp:42".
[[nodiscard]] std::string without_line(const std::string& place);
struct CallSite {
  std::string entry;            // the CUDA function that the caller used; "" unknown
  std::vector<Caller> callers;  // innermost first
};

using SharedCallers = std::vector<std::shared_ptr<const Caller>>;  // innermost first

// The caller is the first frame outside CUDA's libraries, shared or linked in. At most `most`
// frames are named; the C library's own below main are left out.
[[nodiscard]] CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                                 std::size_t most);
inline constexpr std::size_t kFramesShown = 3;  // in a row of a text
inline constexpr std::size_t kAllFrames = ~std::size_t{0};
inline constexpr std::size_t kFramesCompared = 128;       // deeper stacks are not recorded
inline constexpr std::size_t kFramesInJson = kAllFrames;  // nothing is cut silently

// The callers of many sites of one report by numbers: each frame is named once. Refers to `report`
// and `name`, which have to outlive it.
class NumberedCallers {
 public:
  using Number = std::function<std::uint32_t(const Caller&)>;
  NumberedCallers(const Report& report, const NameFrame& name, Number number);
  ~NumberedCallers();
  NumberedCallers(const NumberedCallers&) = delete;
  NumberedCallers& operator=(const NumberedCallers&) = delete;

  // What `number` gave for the callers that call_site() tells, innermost first.
  [[nodiscard]] std::vector<std::uint32_t> of(const Site& site, std::size_t most);

 private:
  struct Frame;
  const Frame& frame(std::uint32_t index);

  const Report& report_;
  const NameFrame& name_;
  Number number_;
  std::vector<std::unique_ptr<Frame>> frames_;  // by index in the report; null: not asked for yet
};

// The innermost frames of a site that are CUDA's own, and which of its functions they began in.
struct CudaFrames {
  std::size_t count = 0;
  std::string entry = {};  // "cudaMalloc"; "" unknown
};
[[nodiscard]] CudaFrames cuda_frames(const Report& report, const Site& site, const NameFrame& name);

// What is written where the innermost caller was, "" unknown.
[[nodiscard]] std::string source_line(const CallSite& site);

// "make_weights<float> (train.cpp:42)".
[[nodiscard]] std::string text(const Caller& caller);
// The same as listings for machines tell it; in full "void make_weights<float>(int)
// (/src/train.cpp:42)", and "clone (in /lib/libc.so.6)" where no file is known.
[[nodiscard]] std::string listed_text(const Caller& caller, const NameFrame& name);

}  // namespace vramscope
