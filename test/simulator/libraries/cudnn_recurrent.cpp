// cuDNN's recurrent networks: where each matrix and bias lies in the memory of the weights, which
// the program brings. Of an algorithm's memory NVIDIA documents no size; the rule is that it needs
// none.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/libraries/cudnn_tensors.h"

namespace vramscope::simulator {
namespace {

// cudnnStatus_t
constexpr int kBadParameter = 2000;
constexpr int kNullPointer = 2002;

constexpr int kLstm = 2;  // of cudnnRNNMode_t; 0 and 1 are plain, 3 is a GRU
constexpr int kGru = 3;
constexpr int kInputBias = 1;  // of cudnnRNNBiasMode_t; 0: none
constexpr int kTwoBiases = 2;
constexpr int kRecurrentBias = 3;
constexpr int kSkipsInput = 1;  // of cudnnRNNInputMode_t
constexpr int kProjection = 8;  // its number among an LSTM's matrices

// Kept inside the descriptor.
struct Network {
  int mode;
  int biases;
  int directions;
  int input_mode;
  int type;
  int input;
  int hidden;
  int projected;  // what a layer hands on: as `hidden` without a projection
  int layers;
};
static_assert(sizeof(Network) <= sizeof(Opaque));

Network network_of(const Opaque& descriptor) {
  Network network;
  std::memcpy(&network, descriptor.content, sizeof network);
  return network;
}

// A matrix or a bias; none: no rows.
struct Part {
  int rows = 0;
  int columns = 0;

  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

int gates(const Network& network) {
  return network.mode == kLstm ? 4 : network.mode == kGru ? 3 : 1;
}

// Each gate has a matrix for the input and one for the state, the former first.
int numbers(const Network& network) {
  const bool is_projected = network.projected != network.hidden;
  return is_projected ? kProjection + 1 : 2 * gates(network);
}

Part matrix(const Network& network, int layer, int number) {
  if (number == kProjection) return {network.projected, network.hidden};
  if (number >= gates(network)) return {network.hidden, network.projected};
  if (layer > 0) return {network.hidden, network.projected * network.directions};
  return network.input_mode == kSkipsInput ? Part{} : Part{network.hidden, network.input};
}

Part bias(const Network& network, int number) {
  const bool is_input = number < gates(network);
  const bool is_there =
      network.biases == kTwoBiases || network.biases == (is_input ? kInputBias : kRecurrentBias);
  return is_there && number != kProjection ? Part{network.hidden, 1} : Part{};
}

// All matrices, by layer, direction and number, and then all biases. `seen` has the last word.
template <typename Seen>
std::size_t walk(const Network& network, Seen seen) {
  std::size_t at = 0;
  for (const bool is_bias : {false, true}) {
    for (int pseudo = 0; pseudo < network.layers * network.directions; ++pseudo) {
      for (int number = 0; number < numbers(network); ++number) {
        const Part part =
            is_bias ? bias(network, number) : matrix(network, pseudo / network.directions, number);
        seen(is_bias, pseudo, number, part, at);
        at += part.elements();
      }
    }
  }
  return at;
}

std::size_t weight_bytes(const Network& network) {
  return walk(network, [](auto...) {}) * element_bytes(network.type);
}

void tell(const Network& network, Part part, std::size_t at, const void* space, Opaque* descriptor,
          void** address) {
  const bool is_there = part.rows != 0;
  const int lengths[] = {1, part.rows, part.columns};
  if (descriptor != nullptr)
    keep_tensor(*descriptor, packed(network.type, is_there ? 3 : 0, lengths));
  if (address == nullptr) return;
  const auto start = reinterpret_cast<std::uintptr_t>(space);
  *address = is_there ? reinterpret_cast<void*>(start + at * element_bytes(network.type)) : nullptr;
}

}  // namespace
}  // namespace vramscope::simulator

using namespace vramscope::simulator;

#pragma GCC visibility push(default)
extern "C" {

int cudnnSetRNNDescriptor_v8(Opaque* descriptor, int, int mode, int biases, int direction,
                             int input_mode, int type, int, int, int input, int hidden,
                             int projected, int layers, const void*, unsigned) {
  if (descriptor == nullptr) return kNullPointer;
  const bool is_good = mode >= 0 && mode <= kGru && element_bytes(type) != 0 && input > 0 &&
                       hidden > 0 && projected > 0 && projected <= hidden && layers > 0;
  if (!is_good || (projected != hidden && mode != kLstm)) return kBadParameter;
  const Network network = {
      mode, biases, direction == 0 ? 1 : 2, input_mode, type, input, hidden, projected, layers};
  std::memcpy(descriptor->content, &network, sizeof network);
  return kSuccess;
}

int cudnnGetRNNWeightSpaceSize(const void*, const Opaque* descriptor, std::size_t* bytes) {
  if (descriptor == nullptr) return kNullPointer;
  return write_result(bytes, weight_bytes(network_of(*descriptor)), kNullPointer);
}

int cudnnGetRNNWeightParams(const void*, const Opaque* descriptor, int pseudo, std::size_t,
                            const void* space, int number, Opaque* matrix_descriptor,
                            void** matrix_address, Opaque* bias_descriptor, void** bias_address) {
  if (descriptor == nullptr) return kNullPointer;
  const Network network = network_of(*descriptor);
  const bool is_good = pseudo >= 0 && pseudo < network.layers * network.directions && number >= 0 &&
                       number < numbers(network);
  if (!is_good) return kBadParameter;
  walk(network, [&](bool is_bias, int layer, int of, Part part, std::size_t at) {
    if (layer != pseudo || of != number) return;
    tell(network, part, at, space, is_bias ? bias_descriptor : matrix_descriptor,
         is_bias ? bias_address : matrix_address);
  });
  return kSuccess;
}

int cudnnGetRNNTempSpaceSizes(const void*, const void*, int, const void*, std::size_t* work,
                              std::size_t* reserve) {
  if (reserve != nullptr) *reserve = 0;
  return write_result(work, std::size_t{0}, kNullPointer);
}

int cudnnDropoutGetStatesSize(const void*, std::size_t* bytes) {
  return write_result(bytes, std::size_t{0}, kNullPointer);
}

int cudnnDropoutGetReserveSpaceSize(const void*, std::size_t* bytes) {
  return write_result(bytes, std::size_t{0}, kNullPointer);
}

}  // extern "C"
#pragma GCC visibility pop
