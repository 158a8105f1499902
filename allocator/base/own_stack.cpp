// Makes own stacks and assigns them to threads.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/base/own_stack.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/base/kept_errno.h"
#include "allocator/base/machine.h"
#include "allocator/base/on_valgrind.h"

namespace vramscope::own_stack {

constinit thread_local void* volatile used = nullptr;

namespace {

// The number of unused stacks that are kept. A stack that was used takes some four pages.
constexpr std::size_t kMostIdle = 64;
constinit std::array<std::atomic<void*>, kMostIdle> idle{};

// A guard page and the stack.
constexpr std::size_t kAllBytes = kWholePage + kBytes;

void* make() noexcept {
  void* const pages = mmap(nullptr, kAllBytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* const stack = static_cast<std::byte*>(pages) + kWholePage;
  if (mprotect(stack, kBytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(pages, kAllBytes);
    return nullptr;
  }
  tell_valgrind_of_stack(stack, stack + kBytes - 1);
  return stack + kBytes;
}

}  // namespace

// Takes the first free stack, so that few stacks are touched.
void* take() noexcept {
  for (std::atomic<void*>& place : idle) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (void* const end = place.exchange(nullptr, std::memory_order_acquire)) return end;
  }
  const KeptErrno kept;
  return make();
}

void give_back(void* end) noexcept {
  for (std::atomic<void*>& place : idle) {
    void* none = nullptr;
    if (place.load(std::memory_order_relaxed) != nullptr) continue;
    if (place.compare_exchange_strong(none, end, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return;
    }
  }
  const KeptErrno kept;
  munmap(static_cast<std::byte*>(end) - kBytes - kWholePage, kAllBytes);
}

bool holds(const void* address) noexcept {
  const auto end = reinterpret_cast<std::uintptr_t>(used);
  const auto below = end - 1 - reinterpret_cast<std::uintptr_t>(address);
  return end != 0 && below < kBytes;
}

const void* program_frame(const void* frame) noexcept {
  if (!holds(frame)) return frame;
  return static_cast<void**>(used)[-1];  // written by vramscope_switch_stack
}

void abandon() noexcept {
  void* const end = used;
  used = nullptr;
  if (end != nullptr) give_back(end);
}

}  // namespace vramscope::own_stack
