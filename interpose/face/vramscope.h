/* Vramscope's functions for programs: PyTorch's queries about memory, from C and C++.
   SPDX-License-Identifier: Apache-2.0

   Programs link with nothing: the functions are weak references that the preloaded library
   satisfies. An executable that is not position independent also needs the linker's option
   -z dynamic-undefined-weak. In a process without the library, and before the program's first
   cuInit, each function returns VRAMSCOPE_NOT_ACTIVE and does not change its outputs; mark,
   range_push, range_pop, expect_begin and expect_end work before cuInit. Threads: any. Nothing here
   throws.

   Names, units and meanings are those of torch.cuda (PyTorch 2.6; for host memory 2.8) and of
   torch.cuda.nvtx. Sizes are in bytes. `device` is an ordinal as in cudaSetDevice;
   VRAMSCOPE_CURRENT_DEVICE is the device of the calling thread's context, or device 0 if the
   thread has none. */
#ifndef VRAMSCOPE_H
#define VRAMSCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum vramscope_result {
  VRAMSCOPE_OK = 0,
  VRAMSCOPE_NOT_ACTIVE = 1,    /* not loaded, off, before cuInit, or inside a call of ours */
  VRAMSCOPE_BAD_DEVICE = 2,    /* the device does not exist */
  VRAMSCOPE_BAD_KEY = 3,       /* no counter has that name */
  VRAMSCOPE_NO_CONTEXT = 4,    /* the call needs a current context, and the thread has none */
  VRAMSCOPE_DRIVER_ERROR = 5,  /* the driver refused */
  VRAMSCOPE_OUT_OF_MEMORY = 6, /* our own host memory: nothing was done */
  VRAMSCOPE_EXCEEDED = 7,      /* a limit of an expectation does not hold */
  /* The expectation was not begun or has ended; or too many are open. */
  VRAMSCOPE_BAD_EXPECTATION = 8,
};

#define VRAMSCOPE_CURRENT_DEVICE (-1)

/* Receives one counter. `key` is valid only during the call; `context` is the caller's. */
typedef void (*vramscope_each_counter)(const char* key, int64_t value, void* context);

struct vramscope_block {
  uint64_t address;
  uint64_t size;           /* in bytes, rounded */
  uint64_t requested_size; /* bytes requested; for a free block, by its last allocation */
  const char* state;       /* "active_allocated", "active_pending_free" or "inactive" */
};

/* Memory obtained from the driver in one call, as in torch.cuda.memory_snapshot(). */
struct vramscope_segment {
  int32_t device;
  uint32_t context;  /* number of the driver context in this process */
  int32_t is_small;  /* belongs to the small pool */
  int32_t is_direct; /* the driver itself served it: it is one block */
  uint64_t address;
  uint64_t total_size;
  uint64_t allocated_size;              /* bytes of blocks that the program holds */
  uint64_t active_size;                 /* also those of blocks whose free is pending */
  uint64_t requested_size;              /* bytes requested in the active blocks */
  const struct vramscope_block* blocks; /* they tile the segment */
  size_t block_count;
  int32_t is_expandable; /* made of pages in reserved addresses: it may grow */
};

/* Receives one segment, whose pointers are valid only during the call. */
typedef void (*vramscope_each_segment)(const struct vramscope_segment* segment, void* context);

/* What was measured between expect_begin and expect_end, in bytes that the program requested of a
   device, of all kinds of memory and by all threads. New memory was allocated in between. */
struct vramscope_usage {
  int64_t new_bytes;    /* most that was new and live at one time */
  int64_t peak_bytes;   /* most that was live at one time, older memory included */
  int64_t leaked_bytes; /* new and live at the end */
};

/* Receives one line of text without its end, valid only during the call. */
typedef void (*vramscope_each_line)(const char* line, void* context);

#ifdef VRAMSCOPE_IMPLEMENTATION /* the library itself */
#define VRAMSCOPE_EXPORT __attribute__((visibility("default")))
#else
#define VRAMSCOPE_EXPORT __attribute__((weak, visibility("default")))
#endif

/* The library's exports. Programs call the functions below, without v1. */
VRAMSCOPE_EXPORT int vramscope_v1_is_active(void);
VRAMSCOPE_EXPORT int vramscope_v1_memory_stats(int device, vramscope_each_counter each,
                                               void* context);
VRAMSCOPE_EXPORT int vramscope_v1_memory_stat(int device, const char* key, int64_t* value);
VRAMSCOPE_EXPORT int vramscope_v1_host_memory_stats(vramscope_each_counter each, void* context);
VRAMSCOPE_EXPORT int vramscope_v1_reset_peak_memory_stats(int device);
VRAMSCOPE_EXPORT int vramscope_v1_reset_accumulated_memory_stats(int device);
VRAMSCOPE_EXPORT int vramscope_v1_reset_accumulated_host_memory_stats(void);
VRAMSCOPE_EXPORT int vramscope_v1_empty_cache(void);
VRAMSCOPE_EXPORT int vramscope_v1_get_memory_info(int device, uint64_t* free_bytes,
                                                  uint64_t* total_bytes);
VRAMSCOPE_EXPORT int vramscope_v1_memory_snapshot(vramscope_each_segment each, void* context);
VRAMSCOPE_EXPORT int vramscope_v1_ipc_collect(void);
VRAMSCOPE_EXPORT int vramscope_v1_device_count(int* count);
VRAMSCOPE_EXPORT int vramscope_v1_current_device(int* device);
VRAMSCOPE_EXPORT int vramscope_v1_get_device_name(int device, char* name, size_t bytes);
VRAMSCOPE_EXPORT int vramscope_v1_get_device_capability(int device, int* major, int* minor);
VRAMSCOPE_EXPORT int vramscope_v1_synchronize(int device);
VRAMSCOPE_EXPORT int vramscope_v1_mark(const char* message);
VRAMSCOPE_EXPORT int vramscope_v1_range_push(const char* message, int* depth);
VRAMSCOPE_EXPORT int vramscope_v1_range_pop(int* depth);
VRAMSCOPE_EXPORT int vramscope_v1_expect_begin(int device, int64_t max_new_bytes, int64_t max_peak,
                                               int64_t leaks, uint64_t* expectation);
VRAMSCOPE_EXPORT int vramscope_v1_expect_end(uint64_t expectation, struct vramscope_usage* usage,
                                             vramscope_each_line each, void* context);

#ifndef VRAMSCOPE_IMPLEMENTATION

/* Returns 1 if the library records this process, else 0. */
static inline int vramscope_is_active(void) {
  return vramscope_v1_is_active ? vramscope_v1_is_active() : 0;
}

/* torch.cuda.memory_stats: passes every counter of a device to `each`, sorted by key, from one
   instant. Passes none before the device's first allocation. */
static inline int vramscope_memory_stats(int device, vramscope_each_counter each, void* context) {
  return vramscope_v1_memory_stats ? vramscope_v1_memory_stats(device, each, context)
                                   : VRAMSCOPE_NOT_ACTIVE;
}

/* Sets *value to one counter of memory_stats, such as "allocated_bytes.all.peak"; 0 before the
   first allocation. */
static inline int vramscope_memory_stat(int device, const char* key, int64_t* value) {
  return vramscope_v1_memory_stat ? vramscope_v1_memory_stat(device, key, value)
                                  : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.memory_allocated: bytes in blocks that the program holds now. */
static inline int vramscope_memory_allocated(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "allocated_bytes.all.current", bytes);
}

/* torch.cuda.max_memory_allocated: the most bytes that memory_allocated was since the start or
   since the last reset of peaks. */
static inline int vramscope_max_memory_allocated(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "allocated_bytes.all.peak", bytes);
}

/* torch.cuda.memory_reserved: bytes in segments, used or idle. memory_cached is its old name. */
static inline int vramscope_memory_reserved(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "reserved_bytes.all.current", bytes);
}
static inline int vramscope_memory_cached(int device, int64_t* bytes) {
  return vramscope_memory_reserved(device, bytes);
}

/* torch.cuda.max_memory_reserved: the most bytes that memory_reserved was since the start or since
   the last reset of peaks. max_memory_cached is its old name. */
static inline int vramscope_max_memory_reserved(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "reserved_bytes.all.peak", bytes);
}
static inline int vramscope_max_memory_cached(int device, int64_t* bytes) {
  return vramscope_max_memory_reserved(device, bytes);
}

/* torch.cuda.host_memory_stats: passes every counter of pinned and registered host memory to
   `each`, sorted by key. Times are in whole microseconds. Passes none before the first use. */
static inline int vramscope_host_memory_stats(vramscope_each_counter each, void* context) {
  return vramscope_v1_host_memory_stats ? vramscope_v1_host_memory_stats(each, context)
                                        : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.reset_peak_memory_stats: sets each peak of a device to its current value. */
static inline int vramscope_reset_peak_memory_stats(int device) {
  return vramscope_v1_reset_peak_memory_stats ? vramscope_v1_reset_peak_memory_stats(device)
                                              : VRAMSCOPE_NOT_ACTIVE;
}

/* Old names of reset_peak_memory_stats. Like PyTorch's, they reset every peak. */
static inline int vramscope_reset_max_memory_allocated(int device) {
  return vramscope_reset_peak_memory_stats(device);
}
static inline int vramscope_reset_max_memory_cached(int device) {
  return vramscope_reset_peak_memory_stats(device);
}

/* torch.cuda.reset_accumulated_memory_stats: sets each `allocated` and `freed`, and each count, of
   a device to 0. */
static inline int vramscope_reset_accumulated_memory_stats(int device) {
  return vramscope_v1_reset_accumulated_memory_stats
             ? vramscope_v1_reset_accumulated_memory_stats(device)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.reset_accumulated_host_memory_stats: does the same for host memory and its times,
   whose `total` and `count` become 0 while `min` and `max` stay. */
static inline int vramscope_reset_accumulated_host_memory_stats(void) {
  return vramscope_v1_reset_accumulated_host_memory_stats
             ? vramscope_v1_reset_accumulated_host_memory_stats()
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.empty_cache: gives segments without a block in use back to the driver, on every
   device. Pinned memory stays. Needs a current context on the calling thread. During a stream
   capture nothing goes back. */
static inline int vramscope_empty_cache(void) {
  return vramscope_v1_empty_cache ? vramscope_v1_empty_cache() : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.mem_get_info, torch.accelerator.get_memory_info: free and total bytes of a device, as
   cudaMemGetInfo reports them to this program. Needs a current context on the calling thread and,
   for another device, a context that the program has used there. */
static inline int vramscope_get_memory_info(int device, uint64_t* free_bytes,
                                            uint64_t* total_bytes) {
  return vramscope_v1_get_memory_info
             ? vramscope_v1_get_memory_info(device, free_bytes, total_bytes)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.memory_snapshot: passes every segment of device memory to `each`, sorted by device and
   address, from one instant. */
static inline int vramscope_memory_snapshot(vramscope_each_segment each, void* context) {
  return vramscope_v1_memory_snapshot ? vramscope_v1_memory_snapshot(each, context)
                                      : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.ipc_collect: gives memory that was exported to other processes and freed back to the
   driver. Usually the free does that. If it could not (a capture, a graph), this call tries again,
   and also does what empty_cache does. Needs a current context on the calling thread. */
static inline int vramscope_ipc_collect(void) {
  return vramscope_v1_ipc_collect ? vramscope_v1_ipc_collect() : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.device_count: the number of devices that the program sees, 0 or more. */
static inline int vramscope_device_count(int* count) {
  return vramscope_v1_device_count ? vramscope_v1_device_count(count) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.is_available: returns 1 if Vramscope is active and the program sees a device, and
   otherwise 0. */
static inline int vramscope_is_available(void) {
  int count = 0;
  return vramscope_device_count(&count) == VRAMSCOPE_OK && count > 0;
}

/* torch.cuda.current_device: the ordinal of the device of the calling thread's context, or 0 if the
   thread has none. Returns VRAMSCOPE_BAD_DEVICE if there is no device. */
static inline int vramscope_current_device(int* device) {
  return vramscope_v1_current_device ? vramscope_v1_current_device(device) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.get_device_name: writes the device's name, cut to `bytes` including the final zero.
   Writes nothing if `bytes` is 0. */
static inline int vramscope_get_device_name(int device, char* name, size_t bytes) {
  return vramscope_v1_get_device_name ? vramscope_v1_get_device_name(device, name, bytes)
                                      : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.get_device_capability: the device's compute capability, 9 and 0 for 9.0. */
static inline int vramscope_get_device_capability(int device, int* major, int* minor) {
  return vramscope_v1_get_device_capability
             ? vramscope_v1_get_device_capability(device, major, minor)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.synchronize: waits for everything that was submitted to the device, in the calling
   thread's context or, for another device, in a context that the program has there. Like the
   driver's own call, it fails after an error of the device and during a stream capture: it then
   returns VRAMSCOPE_DRIVER_ERROR. */
static inline int vramscope_synchronize(int device) {
  return vramscope_v1_synchronize ? vramscope_v1_synchronize(device) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.nvtx.mark: marks this instant. Reports list it with the marks of NVTX (marks), and
   `vramscope timeline` draws it. The first 512 marks of a run are kept, further ones are counted.
   `message` must not be null. */
static inline int vramscope_mark(const char* message) {
  return vramscope_v1_mark ? vramscope_v1_mark(message) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.nvtx.range_push, range_pop: begins a range of the calling thread; ends its last one.
   Allocations in between belong to the range, as with a range of NVTX's default domain; both kinds
   can be mixed. 256 bytes of `message`, which must not be null, are kept. Unless `depth` is null,
   it receives the range's depth, from 0 on; range_pop sets it to -1 if no range was open. */
static inline int vramscope_range_push(const char* message, int* depth) {
  return vramscope_v1_range_push ? vramscope_v1_range_push(message, depth) : VRAMSCOPE_NOT_ACTIVE;
}
static inline int vramscope_range_pop(int* depth) {
  return vramscope_v1_range_pop ? vramscope_v1_range_pop(depth) : VRAMSCOPE_NOT_ACTIVE;
}

#define VRAMSCOPE_NO_LIMIT (-1)

/* Begins to measure a device for a test, and sets *expectation to a number for expect_end. The
   limits are bytes or VRAMSCOPE_NO_LIMIT, for the usage of the same name: new_bytes, peak_bytes,
   leaked_bytes. Expectations may be nested and may overlap, also in several threads; up to 256 are
   open at one time. The counters of memory_stats and their peaks do not change. Before cuInit,
   VRAMSCOPE_CURRENT_DEVICE is device 0. */
static inline int vramscope_expect_begin(int device, int64_t max_new_bytes, int64_t max_peak,
                                         int64_t leaks, uint64_t* expectation) {
  return vramscope_v1_expect_begin
             ? vramscope_v1_expect_begin(device, max_new_bytes, max_peak, leaks, expectation)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* Ends an expectation. Returns VRAMSCOPE_OK if every limit holds, and VRAMSCOPE_EXCEEDED if one
   does not; both set *usage, unless it is null. If a limit does not hold and `each` is not null,
   `each` receives lines for a person: the limits that do not hold with what was measured, the ten
   call sites with the most memory that is new and live at the end, and the one that reached the
   most new bytes. */
static inline int vramscope_expect_end(uint64_t expectation, struct vramscope_usage* usage,
                                       vramscope_each_line each, void* context) {
  return vramscope_v1_expect_end ? vramscope_v1_expect_end(expectation, usage, each, context)
                                 : VRAMSCOPE_NOT_ACTIVE;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
