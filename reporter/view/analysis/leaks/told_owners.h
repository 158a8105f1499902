// tell_owners_anew() gives an older report the owners that its call sites have by today's rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;

// A report has sums by owner, by the rules of the version that wrote it. If its call sites add up
// to these sums and have other owners by today's rules (see StackOwner), the axes and the ledger
// are recomputed from the call sites. The most that an owner held alone is known if only the
// owner's name has changed; otherwise it is at least what the owner held at the common peak, or at
// the end. Must be called for the report as it was read, before any filter. May throw bad_alloc.
void tell_owners_anew(Report& report);

}  // namespace vramscope
