// Converts the allocator's decisions to the driver's answers, for the bodies of all routes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/base/fault.h"
#include "allocator/caching_allocator.h"
#include "interpose/table/functions.h"

namespace vramscope::routes {

// Returns the driver's code for a status. Refusals of ours get the driver's meaning: a request of
// 2^60 bytes is out of memory, and an address that starts no live block is an invalid value.
[[nodiscard]] CUresult to_code(const Status& status) noexcept;

// Whether nothing happened because our memory is exhausted. The program's call may go to the driver
// then.
[[nodiscard]] inline bool served_nothing(const Status& status) noexcept {
  return status.result == Result::failed && status.code == 0;
}

// Returns an address that the driver does not know. Questions about a free block of ours are asked
// about this address, so that the answer is that for unallocated memory. So are frees by the wrong
// function, because the driver could take the real address for a dedicated segment.
[[nodiscard]] void* unknown_pointer() noexcept;
[[nodiscard]] inline CUdeviceptr unknown_address() noexcept {
  return reinterpret_cast<std::uintptr_t>(unknown_pointer());
}

// Finds an address that may be ours. For most foreign addresses it takes no lock.
[[nodiscard]] inline Found find_ours(const CachingAllocator& allocator, Address address) noexcept {
  return allocator.may_own(address) ? allocator.find(address) : Found{};
}

// Whether an address lies outside the program's bytes. The slack between the requested size and the
// block's end does not belong to the program.
[[nodiscard]] inline bool outside_live_block(const Found& found, CUdeviceptr address) noexcept {
  const Address slack = fault(Fault::range_off_by_one) ? 1 : 0;
  return !found.live || address >= found.block.address + found.block.requested_size + slack;
}

// Whether the driver's allocation is exactly what the program requested, so that the driver can
// describe it.
[[nodiscard]] inline bool is_exact(const Found& found) noexcept {
  return found.dedicated && found.segment_bytes == found.block.requested_size;
}

}  // namespace vramscope::routes
