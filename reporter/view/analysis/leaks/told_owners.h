// tell_owners_anew() gives an older report the owners that its call stacks have by today's rules.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

struct Report;

// A report has sums by owner, by the rules of the version that wrote it. Where its call stacks add
// up to these sums and have other owners by today's rules (see StackOwner), axes and ledger are
// told by the stacks, as everything else is. What an owner held at most by itself is known where
// the owner has only another name; else it is at least what it held at the peak of all, or in the
// end. For the report as it was read, before any filter. May throw bad_alloc.
void tell_owners_anew(Report& report);

}  // namespace vramscope
