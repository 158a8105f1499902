// The sequences of requests that every allocator gets: see traces.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/bench/traces.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <random>
#include <utility>

namespace vramscope::bench {
namespace {

constexpr double kLargest = 64 << 20;

Trace finished(Trace trace) {
  std::vector<std::uint64_t> held;
  std::uint64_t bytes = 0;
  for (const Step& step : trace.steps) {
    if (step.slot >= held.size()) held.resize(step.slot + 1);
    bytes += step.bytes - held[step.slot];
    held[step.slot] = step.bytes;
    trace.peak_bytes = std::max(trace.peak_bytes, bytes);
    if (step.bytes > 0) ++trace.pairs;
  }
  assert(bytes == 0);
  trace.slots = static_cast<std::uint32_t>(held.size());
  return trace;
}

std::uint64_t log_uniform(std::mt19937_64& random) {
  std::uniform_real_distribution<double> exponent(0, std::log(kLargest));
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::exp(exponent(random))));
}

// Writes a trace by what happens, finding slots by itself.
class Script {
 public:
  std::uint32_t allocate(std::uint64_t bytes) {
    std::uint32_t slot = next_;
    if (unused_.empty()) {
      ++next_;
    } else {
      slot = unused_.back();
      unused_.pop_back();
    }
    steps_.push_back({slot, bytes});
    return slot;
  }
  void release(std::uint32_t slot) {
    steps_.push_back({slot, 0});
    unused_.push_back(slot);
  }
  void touch(std::uint64_t bytes) { release(allocate(bytes)); }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  std::vector<Step> steps_;
  std::vector<std::uint32_t> unused_;
  std::uint32_t next_ = 0;
};

// A transformer in half precision, batch 8, sixteen heads.
constexpr std::uint64_t kLayers = 48;
constexpr std::uint64_t kHidden = 1024;
constexpr std::uint64_t kVocabulary = 32000;
constexpr std::uint64_t kWorkspace = 8519680;  // what matrix multiplications ask for
constexpr std::uint64_t kUsualLength = 512;    // of a sequence, in tokens

// What follows from the length of the sequences of a batch.
struct Batch {
  explicit Batch(std::uint64_t length)
      : tokens(8 * length), scores(8 * 16 * length * length), activation(tokens * kHidden * 2) {}
  std::uint64_t tokens;
  std::uint64_t scores;  // of one layer's attention
  std::uint64_t activation;
};

std::vector<std::uint32_t> forward_layer(Script& script, const Batch& batch) {
  std::vector<std::uint32_t> kept;
  auto keep = [&](std::uint64_t bytes) { kept.push_back(script.allocate(bytes)); };
  keep(batch.activation);
  keep(batch.tokens * 4);
  keep(batch.tokens * 4);
  keep(batch.activation * 3);
  const std::uint32_t workspace = script.allocate(kWorkspace);
  keep(batch.scores * 2);
  script.release(workspace);
  const std::uint32_t softmax = script.allocate(batch.scores * 2);
  keep(batch.tokens * 16 * 4);
  script.release(softmax);
  keep(batch.activation);
  const std::uint32_t projection = script.allocate(batch.activation);
  keep(batch.activation * 4);
  keep(batch.activation * 2);
  script.release(projection);
  keep(batch.activation / 2);
  const std::uint32_t scale = script.allocate(512);
  const std::uint32_t flag = script.allocate(4);
  keep(batch.activation);
  script.release(scale);
  script.release(flag);
  return kept;
}

void backward_layer(Script& script, const Batch& batch, std::vector<std::uint32_t> kept) {
  for (std::uint64_t i = 0; !kept.empty(); ++i) {
    const std::uint64_t sizes[] = {batch.activation * 4, batch.activation, 2048 * (1 + i)};
    const std::uint32_t gradient = script.allocate(sizes[i % 3]);
    if (i % 4 == 0) script.touch(4 << 20);
    script.release(kept.back());
    kept.pop_back();
    script.release(gradient);
  }
}

void iteration(Script& script, const Batch& batch) {
  std::vector<std::vector<std::uint32_t>> activations;
  for (std::uint64_t l = 0; l < kLayers; ++l) activations.push_back(forward_layer(script, batch));
  const std::uint32_t loss = script.allocate(4);
  const std::uint32_t logits = script.allocate(batch.tokens * kVocabulary * 2);
  const std::uint32_t probabilities = script.allocate(batch.tokens * kVocabulary * 4);
  script.release(logits);
  std::uint32_t upstream = script.allocate(batch.activation);
  script.release(probabilities);

  std::vector<std::uint32_t> gradients;
  for (; !activations.empty(); activations.pop_back()) {
    backward_layer(script, batch, std::move(activations.back()));
    gradients.push_back(script.allocate(kHidden * kHidden * 12 * 2));
    gradients.push_back(script.allocate(kHidden * kHidden * 4 * 2));
    const std::uint32_t next = script.allocate(batch.activation);
    script.release(upstream);
    upstream = next;
  }
  script.release(upstream);
  script.release(loss);
  for (const std::uint32_t gradient : gradients) {
    script.touch(4);
    script.release(gradient);
  }
}

std::uint64_t length_of(Lengths lengths, std::mt19937_64& random) {
  switch (lengths) {
    case Lengths::constant:
      break;
    case Lengths::close: {
      const std::uint64_t coarse = random() % 4;
      return kUsualLength - coarse * 64 - random() % 4 * 8;
    }
    case Lengths::varying:
      return 128 + random() % (kUsualLength - 127);
  }
  return kUsualLength;
}

}  // namespace

Trace ping_pong(std::string name, std::uint64_t bytes, int pairs) {
  Trace trace{.name = std::move(name), .steps = {}};
  for (int i = 0; i < pairs; ++i) {
    trace.steps.push_back({0, bytes});
    trace.steps.push_back({0, 0});
  }
  return finished(std::move(trace));
}

Trace steady(std::string name, std::uint32_t live, int replacements, std::uint64_t limit) {
  Trace trace{.name = std::move(name), .steps = {}};
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> sizes(live);
  std::uint64_t held = 0;
  auto fill = [&](std::uint32_t slot) {
    do sizes[slot] = log_uniform(random);
    while (held + sizes[slot] > limit);
    held += sizes[slot];
    trace.steps.push_back({slot, sizes[slot]});
  };
  for (std::uint32_t slot = 0; slot < live; ++slot) fill(slot);
  for (int i = 0; i < replacements; ++i) {
    const auto slot = static_cast<std::uint32_t>(random() % live);
    trace.steps.push_back({slot, 0});
    held -= sizes[slot];
    fill(slot);
  }
  std::vector<std::uint32_t> order(live);
  for (std::uint32_t slot = 0; slot < live; ++slot) order[slot] = slot;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint32_t slot : order) trace.steps.push_back({slot, 0});
  return finished(std::move(trace));
}

Trace ramp(std::string name, int count, std::uint64_t limit) {
  Script script;
  std::mt19937_64 random(42);
  struct Live {
    std::uint32_t slot;
    std::uint64_t bytes;
  };
  std::vector<Live> live;
  std::uint64_t held = 0;
  for (int made = 0; made < count || !live.empty();) {
    const std::uint64_t bytes = log_uniform(random);
    const bool grows = live.empty() || random() % 100 < 73;
    if (grows && made < count && held + bytes < limit) {
      live.push_back({script.allocate(bytes), bytes});
      held += bytes;
      ++made;
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      script.release(live.back().slot);
      held -= live.back().bytes;
      live.pop_back();
    }
  }
  return finished({.name = std::move(name), .steps = script.take()});
}

Trace training(std::string name, int iterations, Lengths lengths) {
  Script script;
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> weights;
  for (std::uint64_t l = 0; l < kLayers; ++l) {
    weights.push_back(script.allocate(kHidden * kHidden * 12 * 2));
    weights.push_back(script.allocate(kHidden * kHidden * 4 * 2));
  }
  for (int i = 0; i < iterations; ++i) {
    iteration(script, Batch(length_of(lengths, random)));
  }
  for (const std::uint32_t weight : weights) script.release(weight);
  return finished({.name = std::move(name), .steps = script.take()});
}

}  // namespace vramscope::bench
