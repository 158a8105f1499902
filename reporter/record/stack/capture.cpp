// Captures stacks: by unwind tables through libunwind, along frame pointers, and Python's.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/capture.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"
#include "allocator/base/own_stack.h"
#include "reporter/record/stack/known_stacks.h"
#include "reporter/record/stack/library_guards.h"
#include "reporter/record/stack/own_text.h"
#include "reporter/record/stack/recorded_walk.h"

namespace vramscope {

namespace {

// Room for our own frames, which are walked first and dropped.
constexpr std::size_t kOwnFrames = 16;
constexpr std::size_t kUsualOwnFrames = 9;  // for StackPart::few, which is paid by the frame
using Addresses = std::array<std::uintptr_t, kMaxFrames + kOwnFrames>;

using Backtrace = int (*)(void** addresses, int size);

// Is set once, before any capture.
struct Stacks {
  StackMethod method = StackMethod::none;
  std::size_t max_depth = kMaxFrames;
  Backtrace backtrace = nullptr;
  TextRange own;
};
constinit Stacks stacks;

constinit std::atomic<PythonCapture> python_capture{nullptr};

// libunwind's name of the functions that unwind this process.
#ifdef __aarch64__
#define VRAMSCOPE_LOCAL_UNWIND(name) "_ULaarch64_" name
#else
#define VRAMSCOPE_LOCAL_UNWIND(name) "_ULx86_64_" name
#endif

// Gives each thread its own cache of unwind information, so that a step takes no lock and changes
// no signal mask. Nothing is changed if the program had opened libunwind before: the setting is the
// program's.
void cache_per_thread(void* library, DlsymFunction real_dlsym) {
  using SetPolicy = int (*)(void* space, int policy);
  using SetSize = int (*)(void* space, std::size_t size, int flag);
  constexpr int kPerThread = 2;            // UNW_CACHE_PER_THREAD of libunwind-common.h
  constexpr std::size_t kSizeHint = 1024;  // the value that heap profilers use
  void* const space = real_dlsym(library, VRAMSCOPE_LOCAL_UNWIND("local_addr_space"));
  if (space == nullptr) return;
  void* const local = *static_cast<void**>(space);
  if (auto set = reinterpret_cast<SetPolicy>(
          real_dlsym(library, VRAMSCOPE_LOCAL_UNWIND("set_caching_policy")))) {
    set(local, kPerThread);
  }
  if (auto set = reinterpret_cast<SetSize>(
          real_dlsym(library, VRAMSCOPE_LOCAL_UNWIND("set_cache_size")))) {
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
    guard_library(library);  // first, since libunwind makes its pipe in its first call
    cache_per_thread(library, real_dlsym);
  }
  return backtrace;
}

// The limits of the calling thread's stack. The C library is asked once; for the first thread it
// reads /proc/self/maps.
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

// Returns whether a whole frame can be read at `frame`: inside this thread's stack, above `below`.
bool is_readable(const Frame* frame, std::uintptr_t below, const StackLimits& stack) {
  const auto address = reinterpret_cast<std::uintptr_t>(frame);
  return address > below && address % alignof(Frame) == 0 && address >= stack.begin &&
         address < stack.end && stack.end - address >= sizeof(Frame);
}

// On another stack than the thread's own (a coroutine's, a signal's) nothing can be checked, so
// nothing is read and the result is empty.
__attribute__((no_sanitize("address"))) std::size_t walk_frame_pointers(const Frame* frame,
                                                                        Addresses& addresses,
                                                                        std::size_t size) {
  const StackLimits& stack = thread_limits();
  std::uintptr_t below = reinterpret_cast<std::uintptr_t>(frame) - 1;
  std::size_t depth = 0;
  while (depth < size && is_readable(frame, below, stack) && frame->return_address != 0) {
    addresses[depth++] = frame->code();
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
  if (stacks.backtrace != nullptr) recorded_walk::open(real_dlsym);
  return stacks.method;
}

namespace {

// libunwind ends some walks with a zero. Our own code does not count as the program's.
bool is_of_program(std::uintptr_t address) {
  return address != 0 && !stacks.own.contains(address - 1);
}

void keep(Stack& stack, const Addresses& addresses, std::size_t depth, std::size_t wanted) {
  stack.depth = 0;
  for (std::size_t i = 0; i < depth && stack.depth < wanted; ++i) {
    const std::uintptr_t address = without_signature(addresses[i]);
    if (is_of_program(address)) stack.frames[stack.depth++] = address;
  }
}

// libunwind up to 1.6 ends a walk at a signed return address. On such processors nearly all
// functions have frame pointers, which continue the walk.
[[maybe_unused]] void keep_longer(Stack& stack, const Frame* frame, Addresses& addresses,
                                  std::size_t size, std::size_t wanted) {
  if (stack.depth == wanted) return;
  const std::size_t depth = walk_frame_pointers(frame, addresses, size);
  const auto end = addresses.begin() + static_cast<std::ptrdiff_t>(depth);
  const auto found = std::count_if(addresses.begin(), end, is_of_program);
  if (static_cast<std::size_t>(found) > stack.depth) keep(stack, addresses, depth, wanted);
}

// A runtime without frame pointers ends their chain with its first frame, so the tables are used
// instead. From a door on, the rules of frames are used; libunwind itself keeps 300 KiB for each
// thread that it walks.
[[gnu::always_inline]] inline void capture_native(Stack& stack, const Frame* frame, StackPart part,
                                                  const Door& door = {}) {
  Addresses addresses;
  const bool is_whole = part == StackPart::all;
  const std::size_t wanted = is_whole ? stacks.max_depth : std::min(stacks.max_depth, kOwnerFrames);
  const std::size_t size = wanted + (is_whole ? kOwnFrames : kUsualOwnFrames);
  if (stacks.method == StackMethod::frame_pointers) {
    keep(stack, addresses, walk_frame_pointers(frame, addresses, size), wanted);
    const bool is_cut = stack.depth == 1 && wanted > 1;
    if (!is_cut || stacks.backtrace == nullptr) return;
  }
  if (door.slot != 0 && recorded_walk::walk(door, wanted, stack)) return;
  keep(stack, addresses, walk_tables(addresses, size), wanted);
  if constexpr (kSignsReturns) keep_longer(stack, frame, addresses, size, wanted);
}

// Returns the outermost frame of ours before the program's frames.
Door door_of(const Frame* frame) {
  constexpr int kMostOwn = 32;
  for (int i = 0; i < kMostOwn; ++i, frame = frame->caller) {
    if (stacks.own.contains(frame->code() - 1)) continue;
    return {.slot = reinterpret_cast<std::uintptr_t>(&frame->return_address),
            .return_address = frame->code(),
            .frame_pointer = reinterpret_cast<std::uintptr_t>(frame->caller)};
  }
  return {};
}

// Records the words of a walk along frame pointers from the door that meets the expected frames:
// the link and the return address of each frame.
__attribute__((no_sanitize("address"))) bool record_frame_pointers(const Door& door,
                                                                   const Stack& expected,
                                                                   Walked& walked) {
  const StackLimits& limits_now = thread_limits();
  const auto* frame = reinterpret_cast<const Frame*>(door.slot - sizeof(Frame::caller));
  std::uintptr_t below = door.slot - sizeof(Frame);
  walked.begin();
  walked.needs_frame_pointer = true;
  std::size_t depth = 0;
  while (depth < stacks.max_depth && is_readable(frame, below, limits_now)) {
    const std::uintptr_t code = frame->code();
    const auto slot = reinterpret_cast<std::uintptr_t>(&frame->return_address);
    if (!walked.add({slot, frame->return_address})) return false;
    if (code == 0) break;
    if (!stacks.own.contains(code - 1)) {
      if (depth == expected.depth || expected.frames[depth] != code) return false;
      if (++depth == kOwnerFrames) walked.count_of_few = walked.count;
    }
    below = reinterpret_cast<std::uintptr_t>(frame);
    const auto link = reinterpret_cast<std::uintptr_t>(frame->caller);
    if (below >= door.slot && !walked.add({below, link})) return false;
    frame = frame->caller;
  }
  return depth == expected.depth;
}

// Is used only on our own stack, where nothing on this thread can be in the middle of the same
// work.
[[gnu::always_inline]] inline void capture_known(Stack& stack, const Frame* frame, StackPart part) {
  const Door door = door_of(frame);
  KnownStacks* const known = door.slot != 0 ? KnownStacks::of_thread() : nullptr;
  if (known != nullptr && known->find(door, part, stack)) return;
  capture_native(stack, frame, part, door);
  if (known != nullptr && part == StackPart::all && known->should_learn(door, stack)) {
    Walked walked;
    const bool ends = stack.depth < stacks.max_depth;
    const bool is_recorded = (stacks.method == StackMethod::frame_pointers &&
                              record_frame_pointers(door, stack, walked)) ||
                             recorded_walk::take(door, stack.view(), ends, walked);
    if (is_recorded) known->learn(door, stack, walked);
  }
}

}  // namespace

void capture_python_by(PythonCapture capture) noexcept {
  python_capture.store(capture, std::memory_order_release);
}

void capture_again(Stack& stack, StackPart part) noexcept {
  if (recorded_walk::is_outdated(stack)) return capture(stack, part);
  const KeptErrno kept;
  if (const auto add = python_capture.load(std::memory_order_acquire); add != nullptr) {
    add(stack, stacks.max_depth);
  }
}

bool captures_frames() noexcept {
  return stacks.method != StackMethod::none ||
         python_capture.load(std::memory_order_acquire) != nullptr;
}

bool captures_native_only(StackPart part) noexcept {
  return stacks.method != StackMethod::none &&
         (part == StackPart::few || python_capture.load(std::memory_order_acquire) == nullptr);
}

Door door_at(const void* frame) noexcept {
  const auto* const ours = static_cast<const Frame*>(frame);
  if (stacks.own.contains(ours->code() - 1)) return {};
  return {.slot = reinterpret_cast<std::uintptr_t>(&ours->return_address),
          .return_address = ours->code(),
          .frame_pointer = reinterpret_cast<std::uintptr_t>(ours->caller)};
}

__attribute__((noinline)) void capture(Stack& stack, StackPart part) noexcept {
  stack.depth = 0;
  stack.python_depth = 0;
  stack.note = nullptr;
  stack.rules = 0;
  const bool with_native = stacks.method != StackMethod::none;
  const PythonCapture add_python = python_capture.load(std::memory_order_acquire);
  const bool with_python = add_python != nullptr && part == StackPart::all;
  if (!with_native && !with_python) return;
  const KeptErrno kept;
  if (with_native) {
    const void* const here = __builtin_frame_address(0);
    const auto* const frame = static_cast<const Frame*>(own_stack::program_frame(here));
    frame == here ? capture_native(stack, frame, part) : capture_known(stack, frame, part);
  }
  if (with_python) add_python(stack, stacks.max_depth);
}

}  // namespace vramscope
