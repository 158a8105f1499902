// A small training-like program: mixed buffers, pinned staging, streams, kernels, one leak.
// SPDX-License-Identifier: Apache-2.0
// Kernel results are not looked at: the simulated device does not run kernels.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define MUST(call) must((call), #call)
#define NOINLINE __attribute__((noinline))

static void must(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorName(error));
  std::exit(3);
}

__global__ void scale(float* values, int count, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

struct Batch {
  float* device;
  std::size_t bytes;
};

static std::vector<unsigned char> labels(1 << 20);  // ordinary memory, registered below
static unsigned char* staging;                      // pinned
static void* parameters;
static void* moments;

static unsigned checksum(const unsigned char* bytes, std::size_t count) {
  unsigned sum = 2166136261u;
  for (std::size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

static void launch(float* values, std::size_t bytes, cudaStream_t stream) {
  int count = static_cast<int>(bytes / sizeof(float));
  scale<<<(count + 255) / 256, 256, 0, stream>>>(values, count, 0.5f);
  MUST(cudaGetLastError());
}

NOINLINE Batch load_batch(int step, cudaStream_t stream) {
  Batch batch{nullptr, (std::size_t{1} + step % 3) << 20};
  std::memset(staging, step + 1, batch.bytes);
  MUST(cudaMalloc(&batch.device, batch.bytes));
  MUST(cudaMemcpyAsync(batch.device, staging, batch.bytes, cudaMemcpyHostToDevice, stream));
  return batch;
}

NOINLINE float* forward(const Batch& batch, cudaStream_t stream) {
  float* activations;
  MUST(cudaMalloc(&activations, 4 * batch.bytes + 512));
  launch(activations, batch.bytes, stream);
  return activations;
}

NOINLINE void backward(const Batch& batch, float* activations, cudaStream_t stream) {
  float* gradients;
  MUST(cudaMalloc(&gradients, 24 << 20));
  launch(gradients, batch.bytes, stream);
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaFree(gradients));
  MUST(cudaFree(activations));
}

NOINLINE void optimizer_step(int step, cudaStream_t stream) {
  void* scratch;
  MUST(cudaMalloc(&scratch, 4096 * (step + 1)));
  MUST(cudaMemsetAsync(scratch, step, 4096, stream));
  MUST(cudaStreamSynchronize(stream));
  if (step != 5) MUST(cudaFree(scratch));  // the leak: 24576 bytes
}

// The batch must still hold what load_batch put there, whatever else was allocated meanwhile.
NOINLINE void verify(int step, const Batch& batch, cudaStream_t stream) {
  std::memset(staging, 0, batch.bytes);
  MUST(cudaMemcpyAsync(staging, batch.device, batch.bytes, cudaMemcpyDeviceToHost, stream));
  MUST(cudaStreamSynchronize(stream));
  std::printf("step %d: %zu bytes, checksum %08x\n", step, batch.bytes,
              checksum(staging, batch.bytes));
}

int main() {
  cudaStream_t stream;
  MUST(cudaStreamCreate(&stream));
  MUST(cudaMallocHost(&staging, 4 << 20));
  MUST(cudaHostRegister(labels.data(), labels.size(), cudaHostRegisterDefault));
  MUST(cudaMalloc(&parameters, 48 << 20));
  MUST(cudaMalloc(&moments, 96 << 20));

  for (int step = 0; step < 8; ++step) {
    Batch batch = load_batch(step, stream);
    float* activations = forward(batch, stream);
    backward(batch, activations, stream);
    optimizer_step(step, stream);
    verify(step, batch, stream);
    MUST(cudaFree(batch.device));
  }

  MUST(cudaFree(moments));
  MUST(cudaFree(parameters));
  MUST(cudaHostUnregister(labels.data()));
  MUST(cudaFreeHost(staging));
  MUST(cudaStreamDestroy(stream));
  std::printf("done\n");
}
