// A call that the pretended runtime or libraries do not model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope::simulator {

// The simulated driver of this process names the function once, if its settings ask for that.
// Threads: any.
void tell_missing(const char* function);

}  // namespace vramscope::simulator
