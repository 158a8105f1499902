// remove_stale_sockets() removes control sockets of programs that were killed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Removes sockets from the usual folders of live files. They are proved to be ours: under exactly
// our kind of name, the user's alone, older than a start takes, and nobody listens. May throw
// bad_alloc.
void remove_stale_sockets();

}  // namespace vramscope
