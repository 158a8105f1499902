// Answers in the driver's words to what the allocator decided; shared by the bodies of all routes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/caching_allocator.h"
#include "allocator/ground/fault.h"
#include "interpose/table/functions.h"

namespace vramscope::routes {

// The driver's code of an outcome. Refusals of ours have no code of the driver's: a request of 2^60
// bytes is out of memory, an address that starts no live block is an invalid value.
[[nodiscard]] CUresult to_code(const Status& status) noexcept;

// Our own memory is exhausted: nothing happened, the program's call may go to the driver.
[[nodiscard]] inline bool served_nothing(const Status& status) noexcept {
  return status.result == Result::failed && status.code == 0;
}

// An address that the driver has never heard of: questions about a block of ours that is free are
// asked about it instead, so that the answer is the one for unallocated memory. So are frees by the
// wrong function: the driver must not see an address that it could take for a dedicated segment.
[[nodiscard]] void* unknown_pointer() noexcept;
[[nodiscard]] inline CUdeviceptr unknown_address() noexcept {
  return reinterpret_cast<std::uintptr_t>(unknown_pointer());
}

// What is known of an address that may be ours; for most others without the allocator's lock.
[[nodiscard]] inline Found find_ours(const CachingAllocator& allocator, Address address) noexcept {
  return allocator.may_own(address) ? allocator.find(address) : Found{};
}

// The slack between what was asked for and the block's end is not the program's.
[[nodiscard]] inline bool outside_live_block(const Found& found, CUdeviceptr address) noexcept {
  const Address slack = fault(Fault::range_off_by_one) ? 1 : 0;
  return !found.live || address >= found.block.address + found.block.requested_size + slack;
}

// The driver's allocation is what the program asked for: the driver describes it best.
[[nodiscard]] inline bool is_exact(const Found& found) noexcept {
  return found.dedicated && found.segment_bytes == found.block.requested_size;
}

}  // namespace vramscope::routes
