// The call stack of a site as a person reads it: who called into CUDA, and from where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reporter/report/report.h"
#include "reporter/report/symbols.h"

namespace vramscope {

// The functions active at a frame, innermost first: those inlined, then the one that was called.
// Empty when the module has no symbols here.
using NameFrame = std::function<std::vector<SourceFrame>(const Report& report, const FrameFact&)>;

// From the modules' symbols on this machine; each is opened once.
[[nodiscard]] NameFrame names_from_symbols();

// One line of a stack: "make_weights (train.cpp:42)", or "train+0x1234" without symbols.
struct CallSite {
  std::string entry;                // the CUDA function that the caller used; "" unknown
  std::vector<std::string> frames;  // innermost first, beginning with the caller
};

// The caller is the first frame outside CUDA's libraries, shared or linked in. At most `most`
// frames are named.
[[nodiscard]] CallSite call_site(const Report& report, const Site& site, const NameFrame& name,
                                 std::size_t most);

// "make (a.cpp:1) < build (b.cpp:2) < main (b.cpp:9)"; "unknown" for no frames.
[[nodiscard]] std::string text(const CallSite& site);

}  // namespace vramscope
