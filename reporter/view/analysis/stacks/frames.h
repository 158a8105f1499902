// CallSite is the call stack of a site for people: which code called CUDA, and from where.
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

// Returns the functions at a frame, innermost first: inlined ones, then the one that was called.
// Empty if the module has no symbols here.
struct NameFrame : std::function<std::vector<SourceFrame>(const Report& report, const FrameFact&)> {
  using function::function;
  bool in_full = false;  // listings for programs include types, whole paths and modules
};

// Uses the modules' symbols on this machine. Each module is opened once.
[[nodiscard]] NameFrame names_from_symbols(Stacks shown = Stacks::in_rows);

// The place of a function without a name whose module is another file than in the run.
inline constexpr std::string_view kReplaced = "replaced";

struct Caller {
  std::string function;     // "make_weights<float>", or "train+0x1234" without symbols
  std::string place;        // "train.cpp:42"; "": unknown
  std::string line = {};    // the source text of that line; "": unknown
  std::string full = {};    // with types: "void make_weights<float>(int)"; "": equal to `function`
  std::string path = {};    // "/src/train.cpp:42"; "": unknown
  std::string module = {};  // "/app/train"; "" for Python and generated code
  std::string at = {};      // "train+0x1234", position in its module; "" for Python
  bool is_inlined = false;  // into the next frame
  std::size_t times = 1;    // of recursive calls that are folded
};
[[nodiscard]] inline const std::string& full_name(const Caller& caller) {
  return caller.full.empty() ? caller.function : caller.full;
}
// Returns "train.cpp" for "train.cpp:42".
[[nodiscard]] std::string without_line(const std::string& place);
struct CallSite {
  std::string entry;            // the CUDA function that the caller used; "": unknown
  std::vector<Caller> callers;  // innermost first
};

using SharedCallers = std::vector<std::shared_ptr<const Caller>>;  // innermost first

// The caller is the first frame outside CUDA's libraries, shared or linked in. At most `most`
// frames are named. The C library's own frames below main are left out.
[[nodiscard]] CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                                 std::size_t most);
inline constexpr std::size_t kFramesShown = 3;  // in a row of a text
inline constexpr std::size_t kAllFrames = ~std::size_t{0};
inline constexpr std::size_t kFramesCompared = 128;       // deeper stacks are not recorded
inline constexpr std::size_t kFramesInJson = kAllFrames;  // nothing is cut silently

// The callers of many sites of one report as numbers; each frame is named once. Refers to `report`
// and `name`, which must outlive it.
class NumberedCallers {
 public:
  using Number = std::function<std::uint32_t(const Caller&)>;
  NumberedCallers(const Report& report, const NameFrame& name, Number number);
  ~NumberedCallers();
  NumberedCallers(const NumberedCallers&) = delete;
  NumberedCallers& operator=(const NumberedCallers&) = delete;

  // Returns the numbers that `number` gave to the callers of call_site(), innermost first.
  [[nodiscard]] std::vector<std::uint32_t> of(const Site& site, std::size_t most);

 private:
  struct Frame;
  const Frame& frame(std::uint32_t index);

  const Report& report_;
  const NameFrame& name_;
  Number number_;
  std::vector<std::unique_ptr<Frame>> frames_;  // by index in the report; null: not asked for yet
};

// The innermost frames of a site that belong to CUDA, and the CUDA function in which they began.
struct CudaFrames {
  std::size_t count = 0;
  std::string entry = {};  // "cudaMalloc"; "": unknown
};
[[nodiscard]] CudaFrames cuda_frames(const Report& report, const Site& site, const NameFrame& name);

// Returns the source text at the innermost caller, or "".
[[nodiscard]] std::string source_line(const CallSite& site);

// Returns "make_weights<float> (train.cpp:42)".
[[nodiscard]] std::string text(const Caller& caller);
// Returns the text for listings of programs: in full "void make_weights<float>(int)
// (/src/train.cpp:42)", or "clone (in /lib/libc.so.6)" if no file is known.
[[nodiscard]] std::string listed_text(const Caller& caller, const NameFrame& name);

}  // namespace vramscope
