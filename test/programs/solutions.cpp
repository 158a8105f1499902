// Solves by cuSOLVER, and reads what it says of the problem.
// SPDX-License-Identifier: Apache-2.0
// The declarations are those that matter.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" {
int cusolverDnCreate(void** handle);
int cusolverDnDestroy(void* handle);
int cusolverDnSetStream(void* handle, cudaStream_t stream);
int cusolverDnGetStream(void* handle, cudaStream_t* stream);
int cusolverDnSgetrf_bufferSize(void* handle, int m, int n, float* a, int lda, int* size);
int cusolverDnSgetrf(void* handle, int m, int n, float* a, int lda, float* work, int* pivots,
                     int* info);
int cusolverDnCreateParams(void** made);
int cusolverDnDestroyParams(void* made);
int cusolverDnXgesvdp_bufferSize(void* handle, void* params, int job, int economy, std::int64_t m,
                                 std::int64_t n, int type_a, const void* a, std::int64_t lda,
                                 int type_s, const void* s, int type_u, const void* u,
                                 std::int64_t ldu, int type_v, const void* v, std::int64_t ldv,
                                 int type, std::size_t* device, std::size_t* host);
int cusolverDnSpotrfBatched(void* handle, int part, int n, float** a, int lda, int* info,
                            int batch);
int cusolverDnSsyevdx(void* handle, int job, int range, int part, int n, float* a, int lda,
                      float low, float high, int first, int last, int* found, float* w, float* work,
                      int size, int* info);
int cusolverSpXcsrissymHost(void* handle, ...);
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

static void print(const char* what, const int* device, int count) {
  int host[3] = {};
  cudaMemcpy(host, device, static_cast<std::size_t>(count) * sizeof *host, cudaMemcpyDeviceToHost);
  std::printf("%s:", what);
  for (int i = 0; i < count; ++i) std::printf(" %d", host[i]);
  std::printf("\n");
}

int main() {
  void* handle = nullptr;
  void* params = nullptr;
  say("handle", cusolverDnCreate(&handle));
  say("no place for a handle", cusolverDnCreate(nullptr));
  cudaStream_t stream = nullptr;
  cudaStream_t kept = nullptr;
  cudaStreamCreate(&stream);
  say("stream", cusolverDnSetStream(handle, stream) + cusolverDnGetStream(handle, &kept));
  std::printf("kept: %d\n", stream == kept);
  int* info = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&info), 3 * sizeof *info);
  cudaMemset(info, 1, 3 * sizeof *info);
  int size = -1;
  say("size", cusolverDnSgetrf_bufferSize(handle, 8, 8, nullptr, 8, &size));
  std::printf("workspace: %d\n", size);
  say("solved", cusolverDnSgetrf(handle, 8, 8, nullptr, 8, nullptr, nullptr, info));
  cudaStreamSynchronize(stream);
  print("info", info, 2);
  say("solved", cusolverDnSpotrfBatched(handle, 0, 8, nullptr, 8, info, 2));
  cudaStreamSynchronize(stream);
  print("info", info, 3);
  std::size_t device = 1;
  std::size_t host = 1;
  say("parameters", cusolverDnCreateParams(&params));
  say("size", cusolverDnXgesvdp_bufferSize(handle, params, 0, 0, 8, 8, 0, nullptr, 8, 0, nullptr, 0,
                                           nullptr, 8, 0, nullptr, 8, 0, &device, &host));
  std::printf("workspaces: %zu %zu\n", device, host);
  int found = -1;
  say("solved", cusolverDnSsyevdx(handle, 0, 0, 0, 8, nullptr, 8, 0, 1, 1, 8, &found, nullptr,
                                  nullptr, 0, info));
  std::printf("found: %d\n", found);
  say("not modelled", cusolverSpXcsrissymHost(handle));
  say("end", cusolverDnDestroyParams(params) + cusolverDnDestroy(handle));
  cudaFree(info);
  cudaStreamDestroy(stream);
}
