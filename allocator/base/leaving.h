// Handles a thread that ends inside a driver call: it was cancelled there, or a callback of the
// driver called pthread_exit. The C library unwinds such a thread ("forced unwinding"), and our
// frames stand above the driver's.
//
// How it works: the unwinding stops where we called the driver. Our frames then return as after a
// failed call: they enter what the driver gave before, and release locks, counts and marks in the
// ordinary code. They do not call the driver again. When the thread's outermost call of ours ends,
// the unwinding continues from there into the program.
// Rejected: to let the unwinding pass through our frames. Each state between two driver calls
// (capacity promised, a segment being released, a page created and not mapped) would need a second
// cleanup path, which no ordinary run takes. Also rejected: to disable cancellation around driver
// calls (pthread_setcancelstate). A thread that is cancelled while it waits for a kernel would then
// end only with the kernel, which may never end; pthread_exit ignores the setting; and it costs two
// locked instructions a call, while this costs nothing until it happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// The address of the object of the thread's outermost call of ours, on its stack; 0 outside any
// call. Signal handlers also read it.
__attribute__((
    tls_model("initial-exec"))) extern constinit thread_local volatile std::uintptr_t guard_mark;

// What the end of the thread's outermost call must do; 0: nothing. It is the number of frees that
// the thread has deferred, plus kThreadLeaves if the thread is ending.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local std::atomic<std::size_t>
    guard_due;
inline constexpr std::size_t kThreadLeaves = ~(~std::size_t{0} >> 1);

namespace leaving {

// Must be called once before the driver is called. The C library unwinds with the libgcc_s.so.1
// that it opens. The copy of libgcc that is linked into this library handles our frames, and aborts
// the process ("_Unwind_SetGR") unless it has unwound something itself before.
void prepare() noexcept;

// Whether the calling thread is ending inside a call of ours. If so, the driver must not be called.
[[nodiscard]] inline bool is_on() noexcept {
  return guard_due.load(std::memory_order_relaxed) >= kThreadLeaves;
}

// Stops the unwinding until go_on(). Call it in a catch-all handler around a driver call. If no
// call of ours is open whose end could continue the unwinding, it rethrows at once. A C++ exception
// that somebody threw through the driver is handled the same way.
void stop();

// Continues the unwinding at the end of the thread's outermost call, when our state is consistent.
[[noreturn]] void go_on();

}  // namespace leaving
}  // namespace vramscope
