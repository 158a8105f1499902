// The sequences of requests that every allocator gets, the same for all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vramscope::bench {

struct Step {
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;  // 0: release what is in the slot
};

// Every slot is empty before and after.
struct Trace {
  std::string name;
  std::vector<Step> steps;
  std::uint32_t slots = 0;
  std::uint64_t pairs = 0;
  std::uint64_t peak_bytes = 0;  // most requested bytes alive at once
};

// One block of `bytes`, again and again.
Trace ping_pong(std::string name, std::uint64_t bytes, int pairs);

// `live` blocks, one replaced at random `replacements` times; sizes log-uniform from 1 byte to
// 64 MiB, never more than `limit` bytes alive.
Trace steady(std::string name, std::uint32_t live, int replacements, std::uint64_t limit);

// `count` requests, sizes as above: three of four steps allocate until all were made, the others
// release one at random; then the rest goes, at random.
Trace ramp(std::string name, int count, std::uint64_t limit);

// A training loop of a 48-layer transformer: the forward pass keeps activations and drops
// temporaries, the backward pass frees last-in first-out while it makes gradients, then an
// optimizer step. The shapes repeat in each iteration, or each has sequences of another length.
enum class Lengths : std::uint8_t {
  constant,
  close,    // 296 to 512 tokens, of 16 lengths: few sizes are asked for again soon
  varying,  // 128 to 512
};
Trace training(std::string name, int iterations, Lengths lengths = Lengths::constant);

}  // namespace vramscope::bench
