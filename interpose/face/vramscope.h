/* Vramscope for programs that want to talk to it: PyTorch's questions about memory, from C and C++.
   SPDX-License-Identifier: Apache-2.0

   Needs nothing at link time: the functions are weak references that the preloaded library
   satisfies (an executable that is not position independent also wants the linker's option
   -z dynamic-undefined-weak). In a process without it, and (but for mark, range_push and
   range_pop) before the program's first cuInit, each function answers VRAMSCOPE_NOT_ACTIVE and
   leaves its outputs alone. Threads: any. Nothing here throws.

   Names, units and meanings are those of torch.cuda (PyTorch 2.6; of the host: 2.8) and of
   torch.cuda.nvtx. Bytes are
   bytes. `device` is an ordinal as in cudaSetDevice; VRAMSCOPE_CURRENT_DEVICE is that of the
   calling thread's context, or device 0 when it has none. */
#ifndef VRAMSCOPE_H
#define VRAMSCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum vramscope_result {
  VRAMSCOPE_OK = 0,
  VRAMSCOPE_NOT_ACTIVE = 1,    /* not loaded, off, before CUDA started, or inside its own call */
  VRAMSCOPE_BAD_DEVICE = 2,    /* there is no such device */
  VRAMSCOPE_BAD_KEY = 3,       /* no counter is called so */
  VRAMSCOPE_NO_CONTEXT = 4,    /* the calling thread has no current context, and one is needed */
  VRAMSCOPE_DRIVER_ERROR = 5,  /* the driver refused */
  VRAMSCOPE_OUT_OF_MEMORY = 6, /* our own, on the host: nothing was done */
};

#define VRAMSCOPE_CURRENT_DEVICE (-1)

/* Receives one counter. `key` is valid during the call; `context` is the caller's. */
typedef void (*vramscope_each_counter)(const char* key, int64_t value, void* context);

struct vramscope_block {
  uint64_t address;
  uint64_t size;           /* bytes, rounded */
  uint64_t requested_size; /* bytes asked for; of a free block, those of its last life */
  const char* state;       /* "active_allocated", "active_pending_free" or "inactive" */
};

/* Memory obtained from the driver in one call, as in torch.cuda.memory_snapshot(). */
struct vramscope_segment {
  int32_t device;
  uint32_t context;  /* number of the driver context in this process */
  int32_t is_small;  /* of the small pool */
  int32_t is_direct; /* the program got it from the driver itself: one block */
  uint64_t address;
  uint64_t total_size;
  uint64_t allocated_size;              /* bytes of blocks that the program has */
  uint64_t active_size;                 /* and of those whose free is not complete */
  uint64_t requested_size;              /* bytes that were asked for in the active blocks */
  const struct vramscope_block* blocks; /* they tile the segment */
  size_t block_count;
  int32_t is_expandable; /* pages mapped into reserved addresses: it may grow */
};

/* Receives one segment. All it points to is valid during the call. */
typedef void (*vramscope_each_segment)(const struct vramscope_segment* segment, void* context);

#ifdef VRAMSCOPE_IMPLEMENTATION /* the library itself */
#define VRAMSCOPE_EXPORT __attribute__((visibility("default")))
#else
#define VRAMSCOPE_EXPORT __attribute__((weak, visibility("default")))
#endif

/* What the library exports; the functions below, without v1, are those to call. */
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

#ifndef VRAMSCOPE_IMPLEMENTATION

/* 1 when the library records this process, else 0. */
static inline int vramscope_is_active(void) {
  return vramscope_v1_is_active ? vramscope_v1_is_active() : 0;
}

/* torch.cuda.memory_stats: every counter of a device, sorted by key, from one instant. None before
   the device's first allocation. */
static inline int vramscope_memory_stats(int device, vramscope_each_counter each, void* context) {
  return vramscope_v1_memory_stats ? vramscope_v1_memory_stats(device, each, context)
                                   : VRAMSCOPE_NOT_ACTIVE;
}

/* One counter of memory_stats, such as "allocated_bytes.all.peak"; 0 before the first allocation.
 */
static inline int vramscope_memory_stat(int device, const char* key, int64_t* value) {
  return vramscope_v1_memory_stat ? vramscope_v1_memory_stat(device, key, value)
                                  : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.memory_allocated: bytes in blocks that the program has now. */
static inline int vramscope_memory_allocated(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "allocated_bytes.all.current", bytes);
}

/* torch.cuda.max_memory_allocated: the most that memory_allocated was since the start, or since the
   peaks were reset. */
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

/* torch.cuda.max_memory_reserved: its peak. max_memory_cached is its old name. */
static inline int vramscope_max_memory_reserved(int device, int64_t* bytes) {
  return vramscope_memory_stat(device, "reserved_bytes.all.peak", bytes);
}
static inline int vramscope_max_memory_cached(int device, int64_t* bytes) {
  return vramscope_max_memory_reserved(device, bytes);
}

/* torch.cuda.host_memory_stats: every counter of pinned and registered host memory, sorted by key;
   times are whole microseconds. None before the first use. */
static inline int vramscope_host_memory_stats(vramscope_each_counter each, void* context) {
  return vramscope_v1_host_memory_stats ? vramscope_v1_host_memory_stats(each, context)
                                        : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.reset_peak_memory_stats: each peak of a device becomes its current value. */
static inline int vramscope_reset_peak_memory_stats(int device) {
  return vramscope_v1_reset_peak_memory_stats ? vramscope_v1_reset_peak_memory_stats(device)
                                              : VRAMSCOPE_NOT_ACTIVE;
}

/* Old names of it: PyTorch's, too, reset every peak. */
static inline int vramscope_reset_max_memory_allocated(int device) {
  return vramscope_reset_peak_memory_stats(device);
}
static inline int vramscope_reset_max_memory_cached(int device) {
  return vramscope_reset_peak_memory_stats(device);
}

/* torch.cuda.reset_accumulated_memory_stats: each `allocated` and `freed`, and each count, becomes
   0. */
static inline int vramscope_reset_accumulated_memory_stats(int device) {
  return vramscope_v1_reset_accumulated_memory_stats
             ? vramscope_v1_reset_accumulated_memory_stats(device)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.reset_accumulated_host_memory_stats: the same for host memory, its times too: their
   `total` and `count` become 0, `min` and `max` stay. */
static inline int vramscope_reset_accumulated_host_memory_stats(void) {
  return vramscope_v1_reset_accumulated_host_memory_stats
             ? vramscope_v1_reset_accumulated_host_memory_stats()
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.empty_cache: segments in which the program has nothing go back to the driver, on every
   device; pinned memory stays. Needs a current context on the calling thread. During a stream
   capture nothing goes back. */
static inline int vramscope_empty_cache(void) {
  return vramscope_v1_empty_cache ? vramscope_v1_empty_cache() : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.mem_get_info, torch.accelerator.get_memory_info: free and total bytes of a device, as
   cudaMemGetInfo tells this program. Needs a current context on the calling thread and, for another
   device, one that the program used there. */
static inline int vramscope_get_memory_info(int device, uint64_t* free_bytes,
                                            uint64_t* total_bytes) {
  return vramscope_v1_get_memory_info
             ? vramscope_v1_get_memory_info(device, free_bytes, total_bytes)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.memory_snapshot: every segment of device memory, by device and address, from one
   instant. */
static inline int vramscope_memory_snapshot(vramscope_each_segment each, void* context) {
  return vramscope_v1_memory_snapshot ? vramscope_v1_memory_snapshot(each, context)
                                      : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.ipc_collect: what the program exported to other processes and has freed goes back to
   the driver. It does at its free; what could not then (a capture, a graph) is tried again now,
   with everything that empty_cache gives back. Needs a current context on the calling thread. */
static inline int vramscope_ipc_collect(void) {
  return vramscope_v1_ipc_collect ? vramscope_v1_ipc_collect() : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.device_count: how many devices the program sees, from 0 on. */
static inline int vramscope_device_count(int* count) {
  return vramscope_v1_device_count ? vramscope_v1_device_count(count) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.is_available: 1 when somebody answers here and the program sees a device, else 0. */
static inline int vramscope_is_available(void) {
  int count = 0;
  return vramscope_device_count(&count) == VRAMSCOPE_OK && count > 0;
}

/* torch.cuda.current_device: the ordinal of the device of the calling thread's context; 0 when it
   has none. VRAMSCOPE_BAD_DEVICE when there is no device. */
static inline int vramscope_current_device(int* device) {
  return vramscope_v1_current_device ? vramscope_v1_current_device(device) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.get_device_name: its name, cut to `bytes` with the zero at its end; nothing is written
   when `bytes` is 0. */
static inline int vramscope_get_device_name(int device, char* name, size_t bytes) {
  return vramscope_v1_get_device_name ? vramscope_v1_get_device_name(device, name, bytes)
                                      : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.get_device_capability: its compute capability, 9 and 0 for 9.0. */
static inline int vramscope_get_device_capability(int device, int* major, int* minor) {
  return vramscope_v1_get_device_capability
             ? vramscope_v1_get_device_capability(device, major, minor)
             : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.synchronize: waits for everything that was submitted to the device, in the calling
   thread's context or, of another device, in one that the program has there. As with the driver's
   own call, an error of the device or a stream capture makes it VRAMSCOPE_DRIVER_ERROR. */
static inline int vramscope_synchronize(int device) {
  return vramscope_v1_synchronize ? vramscope_v1_synchronize(device) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.nvtx.mark: an instant; reports have it with the marks of NVTX (marks), and
   `vramscope timeline` draws it. The first 512 of a run are kept, further ones counted.
   `message` must not be null. */
static inline int vramscope_mark(const char* message) {
  return vramscope_v1_mark ? vramscope_v1_mark(message) : VRAMSCOPE_NOT_ACTIVE;
}

/* torch.cuda.nvtx.range_push, range_pop: a range of the calling thread begins, and the last one
   ends. What is allocated meanwhile belongs to it, as with a range of NVTX's default domain; the
   two can be mixed. 256 bytes of `message`, which must not be null, are kept. `depth` gets that of
   the range, from 0 on; null: nobody asks. Pop gives -1 where none was open. */
static inline int vramscope_range_push(const char* message, int* depth) {
  return vramscope_v1_range_push ? vramscope_v1_range_push(message, depth) : VRAMSCOPE_NOT_ACTIVE;
}
static inline int vramscope_range_pop(int* depth) {
  return vramscope_v1_range_pop ? vramscope_v1_range_pop(depth) : VRAMSCOPE_NOT_ACTIVE;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
