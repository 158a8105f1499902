// Makes a failing sequence as small as it goes while it still fails.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "test/differential/sequence.h"

namespace vramscope::differential {

using Fails = std::function<bool(const Sequence&)>;

// Takes out calls, then threads, ways and sizes; asks `fails` at most `most` times.
[[nodiscard]] Sequence shrink(Sequence sequence, const Fails& fails, int most);

}  // namespace vramscope::differential
