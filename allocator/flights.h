// Calls of the backend for pages of a reservation, without the lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/state.h"

namespace vramscope {

// The call may be long, and the place may end: then the reservation waits as an orphan until the
// last flight is over.
template <class Call>
bool CachingAllocator::Expansion::fly(State& state, Address reservation, Call call) {
  Flight flight{.reservation = reservation};
  flight.board(flights_);
  state.unlock();
  call();
  state.lock();
  return flight.leave(flights_);
}

}  // namespace vramscope
