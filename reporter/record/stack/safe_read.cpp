// Asks the system whether memory can be read.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/safe_read.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "allocator/base/kept_errno.h"
#include "allocator/base/on_valgrind.h"
#include "allocator/base/thread_buffer.h"

namespace vramscope::safe_read {

constinit const Pages no_pages;
thread_local constinit const Pages* pages = &no_pages;
thread_local constinit std::uint32_t walks = 0;

namespace {

// Returns null if this thread has no buffer; the system is then asked each time.
Pages* own_pages() {
  auto* const own =
      thread_buffer::part_of<Pages>(thread_buffer::get(), &thread_buffer::Parts::readable_pages);
  if (own != nullptr) pages = own;
  return own;
}

constexpr std::uintptr_t kPage = std::uintptr_t{1} << kPageShift;
// The addresses of programs on x86-64 with four or five levels of page tables, and all addresses on
// aarch64. The null page lies below them.
constexpr std::uintptr_t kHighest = std::uintptr_t{1} << 56;

// The system copies the signal set before it checks the operation, which is invalid. It returns
// EFAULT for memory that cannot be read, else EINVAL. The call is allowed wherever signals are.
bool system_can_read(std::uintptr_t address) {
  if (is_on_valgrind()) {  // valgrind takes the set for one of the program's and reports it
    return probe_under_valgrind(reinterpret_cast<const void*>(address)) == 1;
  }
  constexpr int kNothingValid = -1;
  constexpr std::size_t kSetBytes = 8;
  const std::uintptr_t set = address & ~(kSetBytes - 1);  // in the same page
  return syscall(SYS_rt_sigprocmask, kNothingValid, set, nullptr, kSetBytes) == 0 ||
         errno != EFAULT;
}

bool confirm_page(std::uintptr_t address) {
  if (knows(address)) return true;
  if (address < kPage || address >= kHighest || !system_can_read(address)) return false;
  Pages* const own = own_pages();
  if (own == nullptr) return true;
  const std::uintptr_t number = address >> kPageShift;
  Pages::Set& set = own->sets[set_of(number)];
  for (std::size_t i = kPlaces - 1; i > 0; --i) set.inverted[i] = set.inverted[i - 1];
  set.inverted[0] = ~number;
  return true;
}

}  // namespace

long probe_under_valgrind(const void* address) noexcept {
  char byte = 0;
  const iovec local{&byte, 1};
  const iovec remote{const_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

void forget_all() noexcept {
  if (pages == &no_pages) return;
  for (Pages::Set& set : own_pages()->sets) set = {};
}

bool confirm(std::uintptr_t address, std::size_t bytes) noexcept {
  const KeptErrno kept;
  const std::uintptr_t last = address + bytes - 1;
  return last >= address && confirm_page(address) && confirm_page(last);
}

bool copy(std::uintptr_t address, void* to, std::size_t bytes) noexcept {
  const KeptErrno kept;
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  const bool forbidden = copied < 0 && (errno == EPERM || errno == ENOSYS);
  if (!forbidden) return copied == static_cast<ssize_t>(bytes);
  auto* const bytes_to = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (!read(address + i, bytes_to[i])) return false;
  }
  return true;
}

}  // namespace vramscope::safe_read
