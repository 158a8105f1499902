// Whether what fits on a device natively fits with us, and whether we tell as much free memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "test/differential/server.h"

namespace vramscope::differential {

// What is not promised: a refusal with one of these reasons is counted and not judged.
enum class Excuse : std::uint8_t { none, capture, pending_free };
inline constexpr std::size_t kExcuses = 3;
[[nodiscard]] const char* name_of(Excuse excuse);

struct RoomCounts {
  std::uint64_t served = 0;     // requests of device memory
  std::uint64_t refused = 0;    // with us, and natively too
  std::uint64_t asked = 0;      // times that free memory was compared
  std::uint64_t told_less = 0;  // of these, while a graph kept frees pending: not promised
  std::array<std::uint64_t, kExcuses> excused{};  // refused with us alone
  void add(const RoomCounts& other);
};

struct RoomVerdict {
  std::vector<std::string> differences;
  RoomCounts counts;
};

// Plays a sequence with us on its device of C bytes, then natively where there is memory enough. A
// call that we refuse is natively made, looked at and taken back, so that both have the same
// memory all the time. With N bytes used natively after a call and S of our small segments with a
// live block, C - 2 MiB x S >= N promises the call, and C - N - 2 MiB x S bytes told free.
// Threads: one at a time.
class RoomJudge {
 public:
  // Players work below `folder`, which is there. `options`: variables of ours.
  RoomJudge(const Installation& installation, const std::string& folder, const Variables& options);

  [[nodiscard]] RoomVerdict judge(const Sequence& sequence);

 private:
  Server native_;
  Server ours_;
};

}  // namespace vramscope::differential
