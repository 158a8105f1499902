// may_call_loader() looks at the stack of a stopped thread of another process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace vramscope {

// Returns whether the thread, which this process has stopped (ptrace), could call dlopen now: its
// whole stack can be unwound, and no function on it is the loader's or an allocator's, whose locks
// it may hold. Reads files that the process has mapped. May throw bad_alloc.
[[nodiscard]] bool may_call_loader(pid_t process, pid_t thread);

}  // namespace vramscope
