// Captures stacks: by unwind tables through libunwind, or along frame pointers; and Python's.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/stack.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "allocator/ground/kept_errno.h"
#include "allocator/ground/own_stack.h"
#include "reporter/record/stack/hash.h"
#include "reporter/record/stack/own_text.h"
#include "reporter/record/stack/tamed_calls.h"

namespace vramscope {

namespace {

// Room for our own frames, which are walked first and dropped.
constexpr std::size_t kOwnFrames = 16;
constexpr std::size_t kUsualOwnFrames = 9;  // for those who want little and pay by the frame
using Addresses = std::array<std::uintptr_t, kMaxFrames + kOwnFrames>;

using Backtrace = int (*)(void** addresses, int size);

// Set once, before any capture.
struct Stacks {
  StackMethod method = StackMethod::none;
  std::size_t max_depth = kMaxFrames;
  Backtrace backtrace = nullptr;
  TextRange own;
};
constinit Stacks stacks;

constinit std::atomic<PythonCapture> python_capture{nullptr};

// Each thread keeps its unwind information apart: no lock, and no signal mask set and restored,
// at each step. Left alone when the program had libunwind before us: the setting is its own.
void cache_per_thread(void* library, DlsymFunction real_dlsym) {
  using SetPolicy = int (*)(void* space, int policy);
  using SetSize = int (*)(void* space, std::size_t size, int flag);
  constexpr int kPerThread = 2;            // UNW_CACHE_PER_THREAD of libunwind-common.h
  constexpr std::size_t kSizeHint = 1024;  // what heap profilers use
  void* const space = real_dlsym(library, "_ULx86_64_local_addr_space");
  if (space == nullptr) return;
  void* const local = *static_cast<void**>(space);
  if (auto set = reinterpret_cast<SetPolicy>(real_dlsym(library, "_ULx86_64_set_caching_policy"))) {
    set(local, kPerThread);
  }
  if (auto set = reinterpret_cast<SetSize>(real_dlsym(library, "_ULx86_64_set_cache_size"))) {
    set(local, kSizeHint, 0);
  }
}

Backtrace open_libunwind(DlsymFunction real_dlsym) {
  constexpr const char* kLibrary = "libunwind.so.8";
  void* const loaded_before = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  void* const library =
      loaded_before != nullptr ? loaded_before : dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    dlerror();  // the program must not find our failure there
    return nullptr;
  }
  const auto backtrace = reinterpret_cast<Backtrace>(real_dlsym(library, "unw_backtrace"));
  if (backtrace != nullptr && loaded_before == nullptr) {
    tame_calls_of(library);  // first: it makes its pipe with its first call
    cache_per_thread(library, real_dlsym);
  }
  return backtrace;
}

// The calling thread's stack; asked of the C library once, which for the first thread reads
// /proc/self/maps.
struct StackLimits {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool known = false;
};
__attribute__((tls_model("initial-exec"))) thread_local constinit StackLimits limits;

const StackLimits& thread_limits() {
  if (limits.known) return limits;
  limits.known = true;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return limits;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &begin, &bytes) == 0) {
    limits.begin = reinterpret_cast<std::uintptr_t>(begin);
    limits.end = limits.begin + bytes;
  }
  pthread_attr_destroy(&attributes);
  return limits;
}

// What a function's frame pointer points to (System V ABI for x86-64, section 3.2.2).
struct Frame {
  const Frame* caller;
  std::uintptr_t return_address;
};

// Whether a whole frame can be read at `frame`: inside this thread's stack, above `below`.
bool is_readable(const Frame* frame, std::uintptr_t below, const StackLimits& stack) {
  const auto address = reinterpret_cast<std::uintptr_t>(frame);
  return address > below && address % alignof(Frame) == 0 && address >= stack.begin &&
         address < stack.end && stack.end - address >= sizeof(Frame);
}

// On another stack than the thread's own (a coroutine's, a signal's) nothing can be checked, so
// nothing is read: the stack is empty.
__attribute__((no_sanitize("address"))) std::size_t walk_frame_pointers(const Frame* frame,
                                                                        Addresses& addresses,
                                                                        std::size_t size) {
  const StackLimits& stack = thread_limits();
  std::uintptr_t below = reinterpret_cast<std::uintptr_t>(frame) - 1;
  std::size_t depth = 0;
  while (depth < size && is_readable(frame, below, stack) && frame->return_address != 0) {
    addresses[depth++] = frame->return_address;
    below = reinterpret_cast<std::uintptr_t>(frame);
    frame = frame->caller;
  }
  return depth;
}

std::size_t walk_tables(Addresses& addresses, std::size_t size) {
  const int depth =
      stacks.backtrace(reinterpret_cast<void**>(addresses.data()), static_cast<int>(size));
  return depth < 0 ? 0 : std::min(static_cast<std::size_t>(depth), size);
}

}  // namespace

StackMethod open_stacks(StackMethod wanted, std::size_t max_depth,
                        DlsymFunction real_dlsym) noexcept {
  const KeptErrno kept;
  stacks.method = wanted;
  stacks.max_depth = std::min(max_depth, kMaxFrames);
  stacks.own = text_range_of(reinterpret_cast<const void*>(&open_stacks));
  stacks.backtrace = wanted == StackMethod::none ? nullptr : open_libunwind(real_dlsym);
  if (wanted == StackMethod::unwind_tables && stacks.backtrace == nullptr) {
    stacks.method = StackMethod::frame_pointers;
  }
  return stacks.method;
}

// The highest bit tells the word from an address.
void Stack::add(const PythonFrame& frame) {
  constexpr std::uintptr_t kPythonMark = std::uintptr_t{1} << 63;
  const std::uint64_t place = std::uint64_t{frame.offset} << 1 | (frame.ends_loop ? 1 : 0);
  frames[depth + python_depth] = mix(frame.identity, place) | kPythonMark;
  python[python_depth++] = frame;
}

namespace {

// Libunwind ends some walks with a zero; our own code is nobody's reason to allocate.
void keep(Stack& stack, const Addresses& addresses, std::size_t depth, std::size_t wanted) {
  stack.depth = 0;
  for (std::size_t i = 0; i < depth && stack.depth < wanted; ++i) {
    const std::uintptr_t address = addresses[i];
    if (address == 0 || stacks.own.contains(address - 1)) continue;
    stack.frames[stack.depth++] = address;
  }
}

// A runtime without frame pointers ends their chain with its first frame: then the tables tell.
[[gnu::always_inline]] inline void capture_native(Stack& stack, const Frame* frame,
                                                  std::size_t most) {
  Addresses addresses;
  const bool whole = most >= stacks.max_depth;
  const std::size_t wanted = whole ? stacks.max_depth : most;
  const std::size_t size = wanted + (whole ? kOwnFrames : kUsualOwnFrames);
  if (stacks.method == StackMethod::frame_pointers) {
    keep(stack, addresses, walk_frame_pointers(frame, addresses, size), wanted);
    const bool is_cut = stack.depth == 1 && wanted > 1;
    if (!is_cut || stacks.backtrace == nullptr) return;
  }
  keep(stack, addresses, walk_tables(addresses, size), wanted);
}

}  // namespace

void capture_python_by(PythonCapture capture) noexcept {
  python_capture.store(capture, std::memory_order_release);
}

void capture_python_again(Stack& stack) noexcept {
  const KeptErrno kept;
  if (const auto add = python_capture.load(std::memory_order_acquire); add != nullptr) {
    add(stack, stacks.max_depth);
  }
}

__attribute__((noinline)) void capture(Stack& stack, std::size_t most) noexcept {
  stack.depth = 0;
  stack.python_depth = 0;
  const bool with_native = stacks.method != StackMethod::none;
  const PythonCapture add_python = python_capture.load(std::memory_order_acquire);
  const bool with_python = add_python != nullptr && most >= stacks.max_depth;
  if (!with_native && !with_python) return;
  const KeptErrno kept;
  if (with_native) {
    const void* const frame = own_stack::program_frame(__builtin_frame_address(0));
    capture_native(stack, static_cast<const Frame*>(frame), most);
  }
  if (with_python) add_python(stack, stacks.max_depth);
}

}  // namespace vramscope
