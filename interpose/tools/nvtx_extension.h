// What NVTX's extensions need: how NVTX shows one to a tool, and functions of nvtx.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "allocator/base/kept_errno.h"
#include "interpose/base/guard.h"

namespace vramscope {

// Types of NVTX 3.1 and later (nvtxDetail/nvtxExtTypes.h), which headers of CUDA 11 lack.
struct ExtensionSegment {
  std::size_t id;
  std::size_t slot_count;
  std::intptr_t* slots;  // 0: not initialised; a slot that nobody fills is switched off
};
struct ExtensionModule {
  std::uint16_t version;
  std::uint16_t struct_size;
  std::uint16_t id;
  std::uint16_t compatibility;
  std::size_t segment_count;
  ExtensionSegment* segments;
  std::intptr_t (*get_export)(std::uint32_t id);
  const void* information;
};

// Puts our function into a slot, and what was there, another tool's function or 0, into `other`.
template <class Function>
void fill_slot(ExtensionSegment& segment, std::size_t slot, Function function,
               std::intptr_t& other) {
  if (slot >= segment.slot_count) return;
  other = segment.slots[slot];
  segment.slots[slot] = reinterpret_cast<std::intptr_t>(function);
}

// Runs our part of a call: keeps errno, and hides our failures from the program.
template <class F>
auto unseen(F&& f) noexcept -> decltype(f()) {
  using Result = decltype(f());
  const KeptErrno kept;
  const CallGuard guard(CallGuard::Ends::without_waiting);
  try {
    return f();
  } catch (...) {  // no memory for a name
    return Result();
  }
}

// Ranges of a domain by its handle, as in RangeTable. They do nothing in a forked child, or if
// memory for a name is exhausted. Threads: any.
int push_range(const void* domain, std::string_view name) noexcept;
int pop_range(const void* domain) noexcept;
// `other`: the number from the user's own library; 0: none. Returns the number for the program.
[[nodiscard]] std::uint64_t start_range(const void* domain, std::string_view name,
                                        std::uint64_t other) noexcept;
void end_range(std::uint64_t id) noexcept;
void set_mark(const void* domain, std::string_view name) noexcept;

// Returns the name in a message of the type (nvtxMessageType_t), behind that of the domain:
// "domain:name". May throw bad_alloc.
[[nodiscard]] std::string nvtx_name(const void* domain, std::uint32_t type, const void* message);

// Returns the user's own injection library, or null.
[[nodiscard]] void* other_nvtx_library() noexcept;
// Whether ranges are kept in this process: not if we are switched off, or in secure execution, in
// which nobody may choose libraries.
[[nodiscard]] bool keeps_ranges() noexcept;

}  // namespace vramscope
