// The signal that asks for a report is taken from the program without its noticing: its own handler
// is kept aside, runs after ours, and is what it reads back. While it ignores the signal, we do
// too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Installs our handler for `signal`; `poke` runs in it, `changed` where the program changes its own
// action: both must be async-signal-safe. The program's present action is kept and chained. Call
// once.
void take_signal(int signal, void (*poke)(), void (*changed)()) noexcept;

// Whether the program has a handler of its own for it, which runs too. Threads: any.
[[nodiscard]] bool program_handles_signal() noexcept;

// In a forked child: the program's own action is installed again and ours is gone.
void return_signal() noexcept;

}  // namespace vramscope
