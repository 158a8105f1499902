// redirect() writes a jump to the beginning of each function of a runtime inside a mapped object.
// The jump leads to the function of the same name in a simulated runtime, which is loaded when one
// of them is first called: an object is changed before any of its code runs, when nothing may be
// loaded yet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/simulator/redirect/runtime_inside.h"

namespace vramscope::simulator {

// base: what the loader adds to addresses in the file. library: the path of the simulated runtime.
// No thread may run code of the object meanwhile. Its pages are writable only during the change.
// Returns why nothing was changed, or "": each function now jumps, except those without room. Ends
// the program if the pages cannot be made executable again.
[[nodiscard]] std::string redirect(const std::vector<RuntimeFunction>& functions,
                                   std::uintptr_t base, const std::string& library);

// The same for exports of an object: its table of symbols leads to the functions in `library` from
// now on, and its code stays as it is.
[[nodiscard]] std::string redirect_exports(const ExportRows& exports, std::uintptr_t base,
                                           const std::string& library);

}  // namespace vramscope::simulator
