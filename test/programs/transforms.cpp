// Plans transforms by cuFFT and executes one, with a work area of its own and of the program's.
// SPDX-License-Identifier: Apache-2.0
// The declarations are those that matter.
#include <cstddef>
#include <cstdio>

extern "C" {
int cufftCreate(int* plan);
int cufftDestroy(int plan);
int cufftPlan1d(int* plan, int x, int type, int batch);
int cufftSetAutoAllocation(int plan, int allocates);
int cufftXtMakePlanMany(int plan, int rank, long long* lengths, void* in, long long in_stride,
                        long long in_distance, int in_type, void* out, long long out_stride,
                        long long out_distance, int out_type, long long batch, std::size_t* bytes,
                        int type);
int cufftSetWorkArea(int plan, void* area);
int cufftGetSize(int plan, std::size_t* bytes);
int cufftEstimate2d(int x, int y, int type, std::size_t* bytes);
int cufftExecC2C(int plan, void* in, void* out, int direction);
int cufftXtSetGPUs(int plan, int count, int* devices);
}

static void say(const char* call, int status) { std::printf("%s: %d\n", call, status); }

int main() {
  constexpr int kComplex = 0x29;
  constexpr int kDoubleComplex = 0x69;
  int plan = 0;
  std::size_t bytes = 1;
  say("plan", cufftPlan1d(&plan, 1024, kDoubleComplex, 64));
  say("size", cufftGetSize(plan, &bytes));
  std::printf("work area: %zu\n", bytes);
  say("executed", cufftExecC2C(plan, nullptr, nullptr, -1));
  int bare = 0;
  say("handle", cufftCreate(&bare));
  say("own area", cufftSetAutoAllocation(bare, 0));
  long long lengths[] = {32, 32};
  say("plan",
      cufftXtMakePlanMany(bare, 2, lengths, nullptr, 1, 1, 4, nullptr, 1, 1, 4, 2, &bytes, 4));
  std::printf("work area: %zu\n", bytes);
  say("area", cufftSetWorkArea(bare, nullptr));
  say("estimate", cufftEstimate2d(8, 8, kComplex, &bytes));
  std::printf("work area: %zu\n", bytes);
  int none = 0;
  say("no points", cufftPlan1d(&none, 0, kComplex, 1));
  say("too many", cufftEstimate2d(0x7fffffff, 0x7fffffff, kComplex, &bytes));
  say("not modelled", cufftXtSetGPUs(bare, 0, nullptr));
  say("end", cufftDestroy(plan) + cufftDestroy(bare));
  say("no plan", cufftDestroy(plan));
}
