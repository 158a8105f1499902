// The signal that asks for a report is taken from the program without its noticing: its own handler
// is kept aside, runs after ours, and is what it reads back. While it ignores the signal, we do
// too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Installs our handler for `signal`; `poke` runs in it and must be async-signal-safe. The program's
// present action is kept and chained. Call once.
void take_signal(int signal, void (*poke)()) noexcept;

// In a forked child: the program's own action is installed again and ours is gone.
void return_signal() noexcept;

}  // namespace vramscope
