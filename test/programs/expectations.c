/* Limits its own memory by vramscope.h; is also compiled as C++ (expectations.cpp).
   SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

#include "interpose/face/vramscope.h"

#define MIB ((size_t)1 << 20)
#define MUST(call) must((call), #call)
#define NONE VRAMSCOPE_NO_LIMIT

static void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s failed with %d\n", what, (int)result);
  exit(3);
}

/* A program in C++ exports it here, so that it has a name. */
__attribute__((visibility("default"), noinline)) CUdeviceptr allocate(size_t bytes);
CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr block;
  MUST(cuMemAlloc(&block, bytes));
  return block;
}

static uint64_t begin(const char* what, int64_t most_new, int64_t most, int64_t leaks) {
  uint64_t number = 0;
  int code = vramscope_expect_begin(VRAMSCOPE_CURRENT_DEVICE, most_new, most, leaks, &number);
  printf("%s: %d, %s\n", what, code, number != 0 ? "begun" : "not begun");
  return number;
}

static void show(const char* line, void* context) {
  ++*(int*)context;
  printf("%s says: %s\n", *(int*)context == 1 ? "failure" : "call site", line);
}

static void end(const char* what, uint64_t number) {
  struct vramscope_usage usage = {-1, -1, -1};
  int lines = 0;
  int code = vramscope_expect_end(number, &usage, show, &lines);
  printf("%s ended: %d, new %lld, peak %lld, leaked %lld, %d lines\n", what, code,
         (long long)usage.new_bytes, (long long)usage.peak_bytes, (long long)usage.leaked_bytes,
         lines);
}

static void open_many(void) {
  static uint64_t numbers[300];
  int begun = 0, ended = 0, last = 0;
  for (int i = 0; i < 300; ++i) {
    last = vramscope_expect_begin(0, NONE, NONE, NONE, &numbers[begun]);
    if (last == VRAMSCOPE_OK) ++begun;
  }
  for (int i = 0; i < begun; ++i) {
    if (vramscope_expect_end(numbers[i], NULL, NULL, NULL) == VRAMSCOPE_OK) ++ended;
  }
  printf("many: %d begun, %d ended, then %d\n", begun, ended, last);
}

static void replace(CUdeviceptr* kept) {
  uint64_t number = begin("replaced", NONE, NONE, 0);
  MUST(cuMemFree(*kept));
  *kept = allocate(3 * MIB);
  end("replaced", number);
}

/* A destructor of the program may end an expectation when the driver has ended. */
static uint64_t at_exit;
static void end_at_exit(void) { end("at exit", at_exit); }

int main(void) {
  atexit(end_at_exit); /* runs after the handlers of the driver, which come later */
  uint64_t early = begin("early", NONE, NONE, NONE);
  uint64_t unused = begin("unused", NONE, NONE, 0);
  end("unused", unused);
  uint64_t absent = 0;
  vramscope_expect_begin(7, NONE, NONE, NONE, &absent);
  CUdevice device;
  CUcontext context;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  CUdeviceptr kept = allocate(3 * MIB);

  uint64_t outer = begin("outer", 9 * MIB, 12 * MIB, 0);
  uint64_t inner = begin("inner", 7 * MIB, NONE, NONE);
  CUdeviceptr freed = allocate(8 * MIB);
  end("inner", inner);
  MUST(cuMemFree(freed));
  end("outer", outer);
  end("outer again", outer);
  replace(&kept);

  int64_t peak = -1;
  int code = vramscope_max_memory_allocated(0, &peak);
  printf("peak of the program: %d, %lld\n", code, (long long)peak);
  uint64_t none = 7;
  code = vramscope_expect_begin(7, NONE, NONE, NONE, &none);
  printf("no device: %d, %d\n", code, (int)none);
  end("absent", absent);
  open_many();
  MUST(cuMemFree(kept));
  end("early", early);
  at_exit = begin("at exit", NONE, NONE, NONE);
  return 0;
}
