// Trains a language model of the size of Llama 3.2 1B on texts of varying length, as a framework
// without a cache of its own would: every tensor is a cudaMalloc.
// SPDX-License-Identifier: Apache-2.0
//
// transformer [ITERATIONS]: 16 layers of width 2048, 32 heads (8 for keys and values) of 64, inner
// width 8192, vocabulary 128256 with tied embeddings; bfloat16, AdamW with states in 32 bits, four
// texts of 64 to 2048 tokens a batch, padded to the longest.
#include <vector>

#include "test/bench/workloads/program.h"

namespace {

using workload::Buffer;

constexpr std::size_t kLayers = 16;
constexpr std::size_t kHidden = 2048;
constexpr std::size_t kHeads = 32;
constexpr std::size_t kKeys = 512;  // width of keys, and of values
constexpr std::size_t kInner = 8192;
constexpr std::size_t kVocabulary = 128256;
constexpr std::size_t kBatch = 4;
constexpr std::size_t kHalf = 2;                         // bytes of a bfloat16
constexpr std::size_t kWorkspace = 32 * 1048576 + 4096;  // cuBLAS's on a recent device

// Elements of each parameter of a layer, in the order of the forward pass.
constexpr std::size_t kLayer[] = {kHidden,         kHidden* kHidden, kHidden* kKeys,
                                  kHidden* kKeys,  kHidden* kHidden, kHidden,
                                  kHidden* kInner, kHidden* kInner,  kInner* kHidden};

std::vector<std::size_t> parameter_sizes() {
  std::vector<std::size_t> sizes = {kVocabulary * kHidden};
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    sizes.insert(sizes.end(), std::begin(kLayer), std::end(kLayer));
  }
  sizes.push_back(kHidden);
  return sizes;
}

struct Model {
  std::vector<std::size_t> sizes = parameter_sizes();
  std::vector<Buffer> weights;
  std::vector<Buffer> gradients;
  std::vector<Buffer> states;  // of the optimiser, two a parameter, from its first step on
};

// What the forward pass of a layer keeps for the backward pass.
using Kept = std::vector<Buffer>;

Kept forward_layer(std::size_t tokens) {
  const std::size_t wide = tokens * kHidden * kHalf;
  const std::size_t inner = tokens * kInner * kHalf;
  Kept kept;
  const auto keep = [&kept](std::size_t bytes) { kept.emplace_back(bytes); };
  keep(tokens * 4);  // of the norm
  keep(wide);
  {
    const Buffer query(wide);
    const Buffer key(tokens * kKeys * kHalf);
    keep(tokens * kKeys * kHalf);  // values
    keep(wide);                    // the query with its rotation
    keep(tokens * kKeys * kHalf);
  }
  keep(wide);                 // attention
  keep(tokens * kHeads * 4);  // its logarithms of sums
  keep(8);                    // the state of random numbers
  {
    const Buffer projected(wide);
    keep(wide);  // the residual
  }
  keep(tokens * 4);
  keep(wide);
  keep(inner);  // gate
  keep(inner);  // up
  keep(inner);  // the gate's activation
  keep(inner);  // their product
  const Buffer down(wide);
  keep(wide);
  return kept;
}

// Last in, first out; `upstream` is the gradient of what comes out of the layer.
Buffer backward_layer(Kept kept, Buffer upstream, std::size_t tokens, Model& model) {
  const std::size_t wide = tokens * kHidden * kHalf;
  const std::size_t inner = tokens * kInner * kHalf;
  const auto drop = [&kept](int count) {
    for (int i = 0; i < count; ++i) kept.pop_back();
  };
  const auto gradient = [&model](std::size_t number) {
    model.gradients.emplace_back(kLayer[number] * kHalf);
  };
  drop(1);
  Buffer product(inner);
  gradient(8);
  drop(1);
  Buffer gate(inner);
  Buffer up(inner);
  product = {};
  drop(3);
  gradient(7);
  gradient(6);
  Buffer normed(wide);
  gate = {};
  up = {};
  gradient(5);
  Buffer residual(wide);
  normed = {};
  upstream = std::move(residual);
  drop(3);
  gradient(4);
  Buffer attention(wide);
  drop(2);
  Buffer query(wide);
  Buffer key(tokens * kKeys * kHalf);
  Buffer value(tokens * kKeys * kHalf);
  const Buffer softmax(tokens * kHeads * 4);  // what the backward kernel sums
  attention = {};
  drop(4);
  gradient(3);
  gradient(2);
  gradient(1);
  Buffer sum(wide);
  query = {};
  key = {};
  value = {};
  gradient(0);
  Buffer next(wide);
  while (!kept.empty()) kept.pop_back();
  return next;
}

void optimise(Model& model) {
  const bool is_first = model.states.empty();
  std::vector<Buffer> denominators;
  for (const std::size_t size : model.sizes) {
    if (is_first) {
      model.states.emplace_back(size * 4);
      model.states.emplace_back(size * 4);
    }
    const Buffer as_float(size * 4);
    denominators.emplace_back(size * 4);
    if (denominators.size() == kLayers) denominators.clear();  // a list of tensors at a time
  }
  denominators.clear();
  model.gradients.clear();
}

void iterate(Model& model, std::size_t tokens) {
  const std::size_t wide = tokens * kHidden * kHalf;
  const Buffer inputs(tokens * 8);
  const Buffer targets(tokens * 8);
  Buffer embedded(wide);
  std::vector<Kept> layers;
  for (std::size_t layer = 0; layer < kLayers; ++layer) layers.push_back(forward_layer(tokens));
  Buffer normed(wide);
  Buffer logits(tokens * kVocabulary * kHalf);
  Buffer in_float(tokens * kVocabulary * 4);
  const Buffer loss(4);
  {
    const Buffer probabilities(tokens * kVocabulary * 4);
    in_float = {};
    logits = Buffer(tokens * kVocabulary * kHalf);
  }
  model.gradients.emplace_back(model.sizes.front() * kHalf);
  Buffer upstream(wide);
  logits = {};
  normed = {};
  for (; !layers.empty(); layers.pop_back()) {
    upstream = backward_layer(std::move(layers.back()), std::move(upstream), tokens, model);
  }
  upstream = {};
  embedded = {};
  workload::must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  optimise(model);
}

std::size_t longest_of_batch(workload::Lengths& lengths) {
  std::size_t longest = 0;
  for (std::size_t text = 0; text < kBatch; ++text) {
    longest = std::max(longest, lengths.next(400, 0.8, 64, 2048));
  }
  return longest;
}

}  // namespace

int main(int argc, char** argv) {
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 40;
  Model model;
  for (const std::size_t size : model.sizes) model.weights.emplace_back(size * kHalf);
  const Buffer workspace(kWorkspace);
  workload::Lengths lengths(5);
  for (int i = 0; i < iterations; ++i) iterate(model, kBatch * longest_of_batch(lengths));
}
