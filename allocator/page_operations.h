// Page operations call the backend for pages of a reservation, without the lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/state.h"

namespace vramscope {

// The call may be long, and the place may end meanwhile. Then the reservation is abandoned, and is
// dropped when its last operation has ended.
template <class Call>
bool CachingAllocator::Expansion::run_page_operation(State& state, Address reservation, Call call) {
  PageOperation operation{.reservation = reservation};
  operation.begin(page_operations_);
  state.unlock();
  call();
  state.lock();
  return operation.end(page_operations_);
}

}  // namespace vramscope
