// Asks cuDNN where the weights of recurrent networks lie, and what it keeps of a tensor.
// SPDX-License-Identifier: Apache-2.0
// The declarations are those that matter.
#include <cstddef>
#include <cstdio>

extern "C" {
int cudnnCreate(void** handle);
int cudnnDestroy(void* handle);
int cudnnCreateTensorDescriptor(void** made);
int cudnnDestroyTensorDescriptor(void* made);
int cudnnSetTensor4dDescriptor(void* tensor, int format, int type, int n, int c, int h, int w);
int cudnnGetTensorNdDescriptor(void* tensor, int asked, int* type, int* rank, int* lengths,
                               int* strides);
int cudnnGetTensorSizeInBytes(void* tensor, std::size_t* bytes);
int cudnnCreateRNNDescriptor(void** made);
int cudnnDestroyRNNDescriptor(void* made);
int cudnnSetRNNDescriptor_v8(void* network, int algorithm, int mode, int biases, int direction,
                             int input_mode, int type, int precision, int mathematics, int input,
                             int hidden, int projected, int layers, void* dropout, unsigned flags);
int cudnnGetRNNWeightSpaceSize(void* handle, void* network, std::size_t* bytes);
int cudnnGetRNNWeightParams(void* handle, void* network, int layer, std::size_t bytes,
                            const void* space, int number, void* matrix, void** matrix_at,
                            void* bias, void** bias_at);
int cudnnGetRNNTempSpaceSizes(void* handle, void* network, int mode, void* data, std::size_t* work,
                              std::size_t* reserve);
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

static void tell(void* tensor) {
  int type = -1, rank = -1, lengths[8] = {}, strides[8] = {};
  std::size_t bytes = 1;
  say("get", cudnnGetTensorNdDescriptor(tensor, 4, &type, &rank, lengths, strides));
  say("size", cudnnGetTensorSizeInBytes(tensor, &bytes));
  std::printf("type %d, %d dimensions: %d %d %d %d by %d %d %d %d, %zu bytes\n", type, rank,
              lengths[0], lengths[1], lengths[2], lengths[3], strides[0], strides[1], strides[2],
              strides[3], bytes);
}

static void walk(void* handle, void* network, void* tensor, int layers, int numbers) {
  static std::byte space[1];
  std::size_t bytes = 1;
  say("weights", cudnnGetRNNWeightSpaceSize(handle, network, &bytes));
  std::printf("%zu bytes\n", bytes);
  for (int layer = 0; layer < layers; ++layer) {
    for (int number = 0; number < numbers; ++number) {
      void* matrix = space;
      void* bias = space;
      const int status = cudnnGetRNNWeightParams(handle, network, layer, bytes, space, number,
                                                 tensor, &matrix, nullptr, &bias);
      int rank = -1, lengths[3] = {};
      cudnnGetTensorNdDescriptor(tensor, 3, nullptr, &rank, lengths, nullptr);
      const auto at = [](const void* part) {
        return part == nullptr ? -1L
                               : static_cast<long>(static_cast<const std::byte*>(part) - space);
      };
      std::printf("%d.%d: %d, %d x %d at %ld, bias at %ld\n", layer, number, status, lengths[1],
                  lengths[2], at(matrix), at(bias));
    }
  }
  say("no such part", cudnnGetRNNWeightParams(handle, network, layers, bytes, space, 0, tensor,
                                              nullptr, nullptr, nullptr));
}

int main() {
  constexpr int kFloat = 0, kHalf = 2, kPlain = 0, kLstm = 2, kGru = 3;
  void *handle = nullptr, *tensor = nullptr, *network = nullptr;
  say("handle", cudnnCreate(&handle) + cudnnCreateTensorDescriptor(&tensor) +
                    cudnnCreateRNNDescriptor(&network));
  say("set", cudnnSetTensor4dDescriptor(tensor, 1, kHalf, 2, 3, 4, 5));
  tell(tensor);
  say("no such type", cudnnSetTensor4dDescriptor(tensor, 0, 99, 2, 3, 4, 5));
  const auto set = [&](int mode, int biases, int direction, int hidden, int projected, int layers) {
    return cudnnSetRNNDescriptor_v8(network, 0, mode, biases, direction, 0, kFloat, kFloat, 0, 3,
                                    hidden, projected, layers, nullptr, 0);
  };
  say("GRU", set(kGru, 2, 0, 2, 2, 1));
  walk(handle, network, tensor, 1, 6);
  say("two ways, one bias", set(kPlain, 1, 1, 2, 2, 2));
  walk(handle, network, tensor, 4, 2);
  say("LSTM, projected", set(kLstm, 0, 0, 4, 2, 1));
  walk(handle, network, tensor, 1, 9);
  say("GRU, projected", set(kGru, 0, 0, 4, 2, 1));
  std::size_t work = 1, reserve = 1;
  say("sizes", cudnnGetRNNTempSpaceSizes(handle, network, 1, nullptr, &work, &reserve));
  std::printf("work %zu, reserve %zu\n", work, reserve);
  say("end", cudnnDestroyRNNDescriptor(network) + cudnnDestroyTensorDescriptor(tensor) +
                 cudnnDestroy(handle));
}
