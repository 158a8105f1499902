// Knows initialisers by the names that compilers give them.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/initialisers.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "reporter/report/report.h"

namespace vramscope {
namespace {

bool is_initialiser(std::string_view function) {
  constexpr std::string_view kNames[] = {"_GLOBAL__sub_I_",
                                         "__static_initialization_and_destruct",
                                         "__cxx_global_var_init",
                                         "global constructors keyed to ",
                                         "call_init",
                                         "__libc_csu_init"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](std::string_view name) { return function.starts_with(name); });
}

}  // namespace

Initialisers::Initialisers(const Report& report, const NameFrame& name)
    : report_(report), name_(name), known_(report.frames.size()) {}

bool Initialisers::are_above(const Site& site) {
  if (!name_) return false;
  for (const std::uint32_t frame : site.frames) {
    if (frame >= known_.size()) continue;
    std::optional<Found>& found = known_[frame];
    if (!found) found = look_at(report_.frames[frame]);
    if (*found != Found::neither) return *found == Found::initialiser;
  }
  return false;
}

Initialisers::Found Initialisers::look_at(const FrameFact& frame) const {
  for (const SourceFrame& named : name_(report_, frame)) {
    if (named.function == "main") return Found::main;
    if (is_initialiser(named.function)) return Found::initialiser;
  }
  return Found::neither;
}

}  // namespace vramscope
