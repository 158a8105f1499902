// take_signal() takes the report signal without the program noticing. The program's own handler is
// chained after ours, and is what the program reads back. While the program ignores the signal, we
// do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Installs our handler for `signal`, which calls `poke`. `changed` is called when the program
// changes its own action. Both must be async-signal-safe. The program's current action is chained.
// Call it once.
void take_signal(int signal, void (*poke)(), void (*changed)()) noexcept;

// Whether the program has a handler of its own for the signal, which also runs. Threads: any.
[[nodiscard]] bool program_handles_signal() noexcept;

// In a forked child, and after vramscope detach: installs the program's own action again, if ours
// is there.
void return_signal() noexcept;

}  // namespace vramscope
