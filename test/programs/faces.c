/* Talks to Vramscope through vramscope.h, in C; does the same work when nobody answers.
   SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/face/vramscope.h"

#define MIB ((size_t)1 << 20)
#define MUST(call) must((call), #call)

static void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s failed with %d\n", what, (int)result);
  exit(3);
}

static CUdeviceptr allocate(size_t bytes) {
  CUdeviceptr block;
  MUST(cuMemAlloc(&block, bytes));
  return block;
}

static void count(const char* key, int64_t value, void* context) {
  (void)value;
  if (strchr(key, '.') != NULL) ++*(int*)context;
}

static void add(const struct vramscope_segment* segment, void* context) {
  uint64_t end = segment->address;
  for (size_t i = 0; i < segment->block_count; ++i) {
    if (segment->blocks[i].address == end) end += segment->blocks[i].size;
  }
  if (end == segment->address + segment->total_size) *(uint64_t*)context += segment->total_size;
}

static void add_host_count(const char* key, int64_t value, void* context) {
  int is_time =
      strncmp(key, "host_alloc_time.", 16) == 0 || strncmp(key, "host_free_time.", 15) == 0;
  int stays = strstr(key, ".min") != NULL || strstr(key, ".max") != NULL;
  if (is_time && !stays) *(int64_t*)context += value;
  if (strcmp(key, "num_host_alloc") == 0) *(int64_t*)context += value;
}

typedef int (*question)(int device, int64_t* bytes);

static void ask(const char* what, question asked) {
  int64_t bytes = -1;
  int code = asked(VRAMSCOPE_CURRENT_DEVICE, &bytes);
  printf("%s: %d, %lld\n", what, code, (long long)bytes);
}

static void ask_all(const char* when) {
  printf("%s: active %d\n", when, vramscope_is_active());
  ask("allocated", vramscope_memory_allocated);
  ask("max allocated", vramscope_max_memory_allocated);
  ask("reserved", vramscope_memory_reserved);
  ask("cached", vramscope_memory_cached);
  ask("max reserved", vramscope_max_memory_reserved);
  ask("max cached", vramscope_max_memory_cached);
  int keys = 0, host_keys = 0;
  int code = vramscope_memory_stats(0, count, &keys);
  printf("stats: %d, %d with parts\n", code, keys);
  code = vramscope_host_memory_stats(count, &host_keys);
  printf("host stats: %d, %d with parts\n", code, host_keys);
  uint64_t bytes = 0, free_bytes = 0, total_bytes = 0;
  code = vramscope_memory_snapshot(add, &bytes);
  printf("snapshot: %d, %llu bytes tiled\n", code, (unsigned long long)bytes);
  code = vramscope_get_memory_info(VRAMSCOPE_CURRENT_DEVICE, &free_bytes, &total_bytes);
  printf("info: %d, free %d, total %d\n", code, free_bytes > 0, total_bytes >= free_bytes);
}

static void ask_about_devices(void) {
  int number = -1, major = -1, minor = -1;
  char name[64] = "?", start[5] = "?";
  int code = vramscope_device_count(&number);
  printf("devices: %d, %d, available %d\n", code, number, vramscope_is_available());
  number = -1;
  code = vramscope_current_device(&number);
  printf("current device: %d, %d\n", code, number);
  code = vramscope_get_device_name(VRAMSCOPE_CURRENT_DEVICE, name, sizeof(name));
  vramscope_get_device_name(0, start, sizeof(start));
  printf("name: %d, %s, %s\n", code, name, start);
  code = vramscope_get_device_capability(0, &major, &minor);
  printf("capability: %d, %d\n", code, major >= 3 && minor >= 0);
  printf("synchronize: %d\n", vramscope_synchronize(VRAMSCOPE_CURRENT_DEVICE));
  printf("synchronize another: %d\n", vramscope_synchronize(7));
  printf("collect: %d\n", vramscope_ipc_collect());
}

static void allocate_in_ranges(void) {
  int outer = -2, inner = -2, inner_end = -2, before_cuda = -2, none = -2;
  int code = vramscope_range_push("epoch", &outer);
  vramscope_range_push("forward", &inner);
  CUdeviceptr block = allocate(2 * MIB);
  vramscope_mark("step");
  vramscope_range_pop(&inner_end);
  vramscope_range_pop(NULL);
  vramscope_range_pop(&before_cuda);
  vramscope_range_pop(&none);
  printf("ranges: %d, %d %d %d %d %d\n", code, outer, inner, inner_end, before_cuda, none);
  MUST(cuMemFree(block));
}

int main(void) {
  CUdevice device;
  CUcontext context;
  int64_t value = -1;
  ask_all("before");
  vramscope_range_push("before CUDA", NULL);
  MUST(cuInit(0));
  printf("without a context: %d\n", vramscope_empty_cache());
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  ask_all("unused");

  CUdeviceptr kept = allocate(3 * MIB), freed = allocate(30 * MIB);
  void* pinned;
  MUST(cuMemHostAlloc(&pinned, 5000, 0));
  MUST(cuMemFree(freed));
  ask_all("used");
  printf("reset: %d\n", vramscope_reset_peak_memory_stats(0));
  printf("old names: %d %d\n", vramscope_reset_max_memory_allocated(0),
         vramscope_reset_max_memory_cached(0));
  ask("max allocated", vramscope_max_memory_allocated);
  printf("accumulated: %d\n", vramscope_reset_accumulated_memory_stats(0));
  int code = vramscope_memory_stat(0, "allocation.all.allocated", &value);
  printf("allocations: %d, %lld\n", code, (long long)value);
  int64_t host_counts = -1;
  printf("host accumulated: %d\n", vramscope_reset_accumulated_host_memory_stats());
  if (vramscope_host_memory_stats(add_host_count, &host_counts) == VRAMSCOPE_OK) ++host_counts;
  printf("host counts: %lld\n", (long long)host_counts);
  printf("empty: %d\n", vramscope_empty_cache());
  ask("reserved", vramscope_memory_reserved);
  printf("wrong key: %d\n", vramscope_memory_stat(0, "no_such_counter", &value));
  printf("wrong device: %d\n", vramscope_memory_stat(7, "num_ooms", &value));
  ask_about_devices();
  allocate_in_ranges();
  MUST(cuMemFree(kept));
  MUST(cuMemFreeHost(pinned));
  return 0;
}
