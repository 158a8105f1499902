// The lock for short sections: biased to one thread where that is built and can be.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "allocator/ground/capability.h"

// The thread sanitizer cannot see what membarrier orders.
#if defined(VRAMSCOPE_NO_BIAS) || defined(__SANITIZE_THREAD__)
#include "allocator/ground/plain_mutex.h"
#else
#include "allocator/ground/biased_mutex.h"
#endif

namespace vramscope {

#if defined(VRAMSCOPE_NO_BIAS) || defined(__SANITIZE_THREAD__)
using Mutex = PlainMutex;
inline void prepare_biases() noexcept {}
#else
using Mutex = BiasedMutex;
// Before biases can be given: see BiasedMutex::prepare(). Not under a lock.
inline void prepare_biases() noexcept { BiasedMutex::prepare(); }
#endif

using MutexLock = ScopedLock<Mutex>;

}  // namespace vramscope
