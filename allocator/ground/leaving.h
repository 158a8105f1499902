// A thread that ends amid a call of the driver's: it was cancelled there, or somebody whom the
// driver called back ended it by pthread_exit. The C library unwinds such a thread ("forced
// unwinding"), and frames of ours stand above the driver's.
//
// How it is done. The unwinding stops where we called the driver, which ended there as it would
// without us. Our frames return as after a call that failed: what the driver gave before is
// entered, locks, counts and marks come in order by the code that always does it, and nothing is
// asked of the driver any more. When the thread's outermost call of ours ends, the unwinding goes
// on from there into the program.
// Rejected: to let it pass through our frames, since each state between two calls of the driver
// (room promised, a segment on its way, a page created and not mapped) would need a second way to
// its end, one that no ordinary run takes; to forbid it around the driver's calls
// (pthread_setcancelstate), since then a thread that is cancelled while it waits for a kernel ends
// when the kernel does, which may be never, since pthread_exit does not ask, and since it costs two
// locked instructions a call, where this costs none until it happens.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vramscope {

// Where on the stack the thread's outermost call of ours has its object; 0: nowhere. Signal
// handlers read it too.
__attribute__((
    tls_model("initial-exec"))) extern constinit thread_local volatile std::uintptr_t guard_mark;

// What is to be done as the thread's outermost call ends; 0: nothing. How many frees it has
// deferred, and kThreadLeaves.
__attribute__((tls_model("initial-exec"))) extern constinit thread_local std::atomic<std::size_t>
    guard_due;
inline constexpr std::size_t kThreadLeaves = ~(~std::size_t{0} >> 1);

namespace leaving {

// Once, before the driver is called. The C library unwinds with the libgcc_s.so.1 that it opens;
// our frames are handled by the copy of it that is linked into this library, which would abort the
// process ("_Unwind_SetGR") until it has unwound something itself.
void prepare() noexcept;

// Does the calling thread, amid a call of ours? Then the driver is not to be called.
[[nodiscard]] inline bool is_on() noexcept {
  return guard_due.load(std::memory_order_relaxed) >= kThreadLeaves;
}

// In a handler of anything that the driver's function let pass: the unwinding stops until go_on().
// It passes at once where no call of ours is going on, whose end would continue it. An exception
// of C++ that somebody threw through the driver takes the same way.
void stop();

// At the end of the thread's outermost call, when everything of ours is in order.
[[noreturn]] void go_on();

}  // namespace leaving
}  // namespace vramscope
