// The driver makes system calls at which a thread can be cancelled: it ends amid the driver's
// function.
// SPDX-License-Identifier: Apache-2.0
// Argument: once (the thread was cancelled before it called, and ends at the first call that is
// such a point), itself (the same with each of many calls), together (so were eight threads, each
// of which allocates and frees), waiting (it is cancelled, deferred or asynchronously, while the
// driver waits for the device) or exits (a signal handler that interrupts the driver there calls
// pthread_exit). What other threads can do then is the point, and that cleanup handlers run. A real
// driver (H200, 580.159.04) keeps its own locks when a thread ends inside most of its calls, and
// other threads wait for ever, with and without us: it can be asked `once` only.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

#include "test/programs/driver.h"

static CUcontext context;
static CUdevice device;

// What the steps work on; one of each is left when a thread ends before it could free it.
struct Given {
  CUdeviceptr block = 0, ordered = 0, range = 0;
  void *pinned = nullptr, *own = nullptr;
  CUmemGenericAllocationHandle physical = 0;
  CUstream stream = nullptr;
  CUcontext second = nullptr;
  std::size_t pitch = 0, free = 0, total = 0;
};

static CUmemAllocationProp page() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  return wanted;
}

static void none(Given&) {}
static void with_block(Given& given) { given.block = allocate(5 * kMiB); }
static void with_pinned(Given& given) { MUST(cuMemHostAlloc(&given.pinned, 5 * kMiB, 0)); }
static void with_registered(Given& given) { MUST(cuMemHostRegister(given.own, kMiB, 0)); }
static void with_ordered(Given& given) { MUST(cuMemAllocAsync(&given.ordered, kMiB, nullptr)); }
static void with_page(Given& given) {
  const CUmemAllocationProp wanted = page();
  MUST(cuMemAddressReserve(&given.range, 2 * kMiB, 0, 0, 0));
  MUST(cuMemCreate(&given.physical, 2 * kMiB, &wanted, 0));
}
static void with_mapping(Given& given) {
  with_page(given);
  MUST(cuMemMap(given.range, 2 * kMiB, 0, given.physical, 0));
}
static void with_context(Given& given) {
  given.second = create_context();
  MUST(cuCtxSetCurrent(context));
}

struct Step {
  const char* name;
  void (*prepare)(Given&);
  CUresult (*call)(Given&);
};

static const Step kSteps[] = {
    {"cuInit", none, [](Given&) { return cuInit(0); }},
    {"cuMemAlloc", none, [](Given& given) { return cuMemAlloc(&given.block, 3 * kMiB); }},
    {"cuMemAlloc, small", none, [](Given& given) { return cuMemAlloc(&given.block, 1000); }},
    {"cuMemAlloc, too large", none,
     [](Given& given) { return cuMemAlloc(&given.block, std::size_t{1} << 50); }},
    {"cuMemAllocPitch", none,
     [](Given& given) { return cuMemAllocPitch(&given.block, &given.pitch, 100, 100, 4); }},
    {"cuMemAllocManaged", none,
     [](Given& given) { return cuMemAllocManaged(&given.block, kMiB, CU_MEM_ATTACH_GLOBAL); }},
    {"cuMemFree", with_block, [](Given& given) { return cuMemFree(given.block); }},
    {"cuMemGetInfo", none, [](Given& given) { return cuMemGetInfo(&given.free, &given.total); }},
    {"cuMemHostAlloc", none,
     [](Given& given) { return cuMemHostAlloc(&given.pinned, 3 * kMiB, 0); }},
    {"cuMemFreeHost", with_pinned, [](Given& given) { return cuMemFreeHost(given.pinned); }},
    {"cuMemHostRegister", none, [](Given& given) { return cuMemHostRegister(given.own, kMiB, 0); }},
    {"cuMemHostUnregister", with_registered,
     [](Given& given) { return cuMemHostUnregister(given.own); }},
    {"cuMemAllocAsync", none,
     [](Given& given) { return cuMemAllocAsync(&given.ordered, kMiB, nullptr); }},
    {"cuMemFreeAsync", with_ordered,
     [](Given& given) { return cuMemFreeAsync(given.ordered, nullptr); }},
    {"cuMemAddressReserve", none,
     [](Given& given) { return cuMemAddressReserve(&given.range, 2 * kMiB, 0, 0, 0); }},
    {"cuMemCreate", none,
     [](Given& given) {
       const CUmemAllocationProp wanted = page();
       return cuMemCreate(&given.physical, 2 * kMiB, &wanted, 0);
     }},
    {"cuMemMap", with_page,
     [](Given& given) { return cuMemMap(given.range, 2 * kMiB, 0, given.physical, 0); }},
    {"cuMemUnmap", with_mapping, [](Given& given) { return cuMemUnmap(given.range, 2 * kMiB); }},
    {"cuMemRelease", with_page, [](Given& given) { return cuMemRelease(given.physical); }},
    {"cuMemAddressFree", with_page,
     [](Given& given) { return cuMemAddressFree(given.range, 2 * kMiB); }},
    {"cuStreamCreate", none, [](Given& given) { return cuStreamCreate(&given.stream, 0); }},
    {"cuStreamSynchronize", none, [](Given&) { return cuStreamSynchronize(nullptr); }},
    {"cuCtxSynchronize", none, [](Given&) { return cuCtxSynchronize(); }},
    {"cuCtxCreate", none,
     [](Given& given) {
#if CUDA_VERSION >= 13000
       return cuCtxCreate(&given.second, nullptr, 0, device);
#else
       return cuCtxCreate(&given.second, 0, device);
#endif
     }},
    {"cuCtxDestroy", with_context, [](Given& given) { return cuCtxDestroy(given.second); }},
    {"cuDevicePrimaryCtxRetain", none,
     [](Given& given) { return cuDevicePrimaryCtxRetain(&given.second, device); }},
};

// Prepared by the main thread; the thread that ends makes the call.
struct Work {
  const Step* step;
  Given given;
  int type;
  std::atomic<bool> is_ready{false};
};

static void clean_up(void* name) {
  std::printf("%s: cleaned up\n", static_cast<const char*>(name));
}

static void* cancel_itself(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  MUST(cuCtxSetCurrent(context));
  pthread_cleanup_push(clean_up, const_cast<char*>(work.step->name));
  pthread_cancel(pthread_self());
  work.step->call(work.given);
  pthread_testcancel();  // what is served without the driver is no cancellation point
  std::printf("%s: not cancelled\n", work.step->name);
  pthread_cleanup_pop(0);
  return nullptr;
}

static void* wait_for_device(void* argument) {
  auto& work = *static_cast<Work*>(argument);
  int unused = 0;
  MUST(cuCtxSetCurrent(context));
  pthread_cleanup_push(clean_up, const_cast<char*>(work.step->name));
  pthread_setcanceltype(work.type, &unused);
  work.is_ready = true;
  work.step->call(work.given);
  for (;;) pause();  // what is served without a wait is over before
  pthread_cleanup_pop(0);
}

static void* use_others(void*) {
  MUST(cuCtxSetCurrent(context));
  use_each_kind();
  return nullptr;
}

static void tell(const char* name, void* result) {
  std::printf("%s: %s\n", name,
              result == PTHREAD_CANCELED ? "cancelled"
              : result == &context       ? "exited"
                                         : "ended");
}

static void* join(pthread_t thread) {
  void* result = nullptr;
  pthread_join(thread, &result);
  return result;
}

static void see_others() {
  pthread_t thread;
  pthread_create(&thread, nullptr, use_others, nullptr);
  join(thread);
  use_each_kind();
}

static void each_step() {
  for (const Step& step : kSteps) {
    Work work{.step = &step, .given = {}, .type = PTHREAD_CANCEL_DEFERRED};
    work.given.own = std::aligned_alloc(4096, kMiB);
    step.prepare(work.given);
    pthread_t thread;
    pthread_create(&thread, nullptr, cancel_itself, &work);
    tell(step.name, join(thread));
    see_others();
  }
}

static void* cancel_itself_once(void*) {
  MUST(cuCtxSetCurrent(context));
  pthread_cancel(pthread_self());
  CUdeviceptr too_large = 0;
  show("too large", cuMemAlloc(&too_large, std::size_t{1} << 50));
  use_each_kind();
  pthread_testcancel();
  return nullptr;
}

static void once() {
  pthread_t thread;
  pthread_create(&thread, nullptr, cancel_itself_once, nullptr);
  tell("once", join(thread));
}

static void* cancel_itself_and_go_on(void*) {
  MUST(cuCtxSetCurrent(context));
  pthread_cancel(pthread_self());
  for (int i = 0; i < 20'000; ++i) MUST(cuMemFree(allocate(kMiB)));
  pthread_testcancel();
  return nullptr;
}

static void together() {
  std::array<pthread_t, 8> threads;
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, cancel_itself_and_go_on, nullptr);
  }
  for (pthread_t thread : threads) tell("together", join(thread));
  see_others();
}

static std::atomic<bool> is_held{true};
static void hold(void*) {
  while (is_held) usleep(100);
}

static void leave(int) { pthread_exit(&context); }

// The device is busy until the thread has ended: it does not wait for the end of the kernel.
static void each_wait(bool by_handler) {
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    for (const char* name :
         {"cuMemFree", "cuMemFreeHost", "cuStreamSynchronize", "cuCtxSynchronize"}) {
      const Step* step = kSteps;
      while (std::strcmp(step->name, name) != 0) ++step;
      Work work{.step = step, .given = {}, .type = type};
      step->prepare(work.given);
      is_held = true;
      MUST(cuLaunchHostFunc(nullptr, hold, nullptr));
      pthread_t thread;
      pthread_create(&thread, nullptr, wait_for_device, &work);
      while (!work.is_ready) usleep(100);
      usleep(20'000);  // it may or may not have got there
      by_handler ? pthread_kill(thread, SIGUSR2) : pthread_cancel(thread);
      tell(name, join(thread));
      is_held = false;
      MUST(cuCtxSynchronize());
      see_others();
    }
  }
}

int main(int count, char** arguments) {
  static std::array<char, 1 << 16>
      buffer;  // nothing is written before the end: that is such a point
  std::setvbuf(stdout, buffer.data(), _IOFBF, buffer.size());
  const char* const way = count > 1 ? arguments[1] : "itself";
  context = start();
  MUST(cuDeviceGet(&device, 0));
  signal(SIGUSR2, leave);
  if (std::strcmp(way, "once") == 0) {
    once();
  } else if (std::strcmp(way, "itself") == 0) {
    each_step();
  } else if (std::strcmp(way, "together") == 0) {
    together();
  } else {
    each_wait(std::strcmp(way, "exits") == 0);
  }
  MUST(cuMemFree(allocate(kMiB)));
}
