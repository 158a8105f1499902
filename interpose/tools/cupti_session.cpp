// SPDX-License-Identifier: Apache-2.0
#include "interpose/tools/cupti_session.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "allocator/base/capability.h"
#include "allocator/base/kept_errno.h"
#include "interpose/base/guard.h"
#include "interpose/driver/device_facts.h"
#include "interpose/loader/loader.h"

#ifdef VRAMSCOPE_HAS_CUPTI
#include "interpose/tools/cupti_records.h"
#endif

namespace vramscope::cupti {

#ifdef VRAMSCOPE_HAS_CUPTI

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;  // some 1,500 records
constexpr std::uint32_t kFlushPeriodMs = 1000;

// CUPTI's functions, which are found at run time.
struct Functions {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  // Missing in some versions.
  decltype(&cuptiActivityFlushPeriod) flush_period = nullptr;
  decltype(&cuptiActivityEnableAllocationSource) enable_source = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;

  [[nodiscard]] bool complete() const {
    return subscribe != nullptr && register_callbacks != nullptr && enable != nullptr &&
           flush_all != nullptr && next_record != nullptr;
  }
};

struct State {
  Functions call;  // set before any callback
  bool has_source = false;
  SystemMutex lock;
  CachingAllocator* allocator = nullptr;
  CuptiMemory memory VRAMSCOPE_GUARDED_BY(lock);
  std::optional<CuptiFacts> last VRAMSCOPE_GUARDED_BY(lock);  // at the exit handlers
};
// Never destroyed, because CUPTI's threads may deliver records as long as the process lives.
alignas(State) constinit std::byte session_storage[sizeof(State)] = {};
constinit std::atomic<State*> state{nullptr};
constinit std::atomic<bool> ended{false};  // the exit handlers have run, or will never run here

State& made() { return *std::launder(reinterpret_cast<State*>(session_storage)); }

// CUPTI writes records to these buffers, on its own threads or inside the program's calls. They do
// not come from malloc, which may be the program's own.
void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  const KeptErrno kept;
  void* const pages =
      mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *buffer = pages == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(pages);
  *size = pages == MAP_FAILED ? 0 : kBufferBytes;
  *max_records = 0;  // as many as fit
}

void take(State& now, const CuptiRecord& record) noexcept {
  const SystemLock lock(now.lock);
  try {
    now.memory.take(record);
  } catch (const std::exception&) {
    now.memory.count_dropped(1);
  }
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t, std::size_t valid) {
  if (buffer == nullptr) return;
  {
    const CallGuard guard(CallGuard::Ends::without_waiting);
    State& now = made();
    CUpti_Activity* activity = nullptr;
    while (now.call.next_record(buffer, valid, &activity) == CUPTI_SUCCESS) {
      if (const auto record = read_record(*activity, now.has_source)) take(now, *record);
    }
    std::size_t dropped = 0;
    const bool knows = now.call.dropped_records != nullptr &&
                       now.call.dropped_records(context, stream, &dropped) == CUPTI_SUCCESS;
    if (knows && dropped != 0) {
      const SystemLock lock(now.lock);
      now.memory.count_dropped(dropped);
    }
  }
  const KeptErrno kept;
  munmap(buffer, kBufferBytes);
}

// We need no callbacks, but only a subscriber may record.
void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Opens the CUPTI that the program has loaded, else the one for its driver.
void* open_library(std::int32_t driver_version) {
  const std::string own = "libcupti.so." + std::to_string(driver_version / 1000);
  const char* const names[] = {own.c_str(), "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                               "libcupti.so"};
  for (const int how : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* name : names) {
      if (void* const library = dlopen(name, how)) return library;
    }
  }
  for (const char* folder : {"/usr/local/cuda/extras/CUPTI/lib64/", "/usr/local/cuda/lib64/"}) {
    const std::string path = folder + std::string("libcupti.so");
    if (void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  dlerror();  // hides our failure from the program
  return nullptr;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(real_dlsym(library, name));
}

Functions functions_of(void* library) {
  Functions all;
  find(library, "cuptiSubscribe", all.subscribe);
  find(library, "cuptiActivityRegisterCallbacks", all.register_callbacks);
  find(library, "cuptiActivityEnable", all.enable);
  find(library, "cuptiActivityFlushAll", all.flush_all);
  find(library, "cuptiActivityGetNextRecord", all.next_record);
  find(library, "cuptiActivityFlushPeriod", all.flush_period);
  find(library, "cuptiActivityEnableAllocationSource", all.enable_source);
  find(library, "cuptiActivityGetNumDroppedRecords", all.dropped_records);
  find(library, "cuptiGetResultString", all.result_string);
  dlerror();
  return all;
}

std::string reason(const Functions& call, CUptiResult code) {
  if (code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "another tool already uses CUPTI, which serves only one";
  }
  const char* text = nullptr;
  const bool known = call.result_string != nullptr &&
                     call.result_string(code, &text) == CUPTI_SUCCESS && text != nullptr;
  return known ? text : "error " + std::to_string(static_cast<int>(code));
}

// Runs before the handlers of libraries that were loaded earlier, including CUPTI's. CUPTI cannot
// report later frees, so both sides are compared now.
void at_exit() {
  State* const now = state.load(std::memory_order_acquire);
  const bool has_place =
      now != nullptr && !is_guarded(&now);  // else this thread may hold our locks
  if (has_place) {
    flush();
    const CallGuard guard(CallGuard::Ends::without_waiting);
    try {
      const Snapshot memory = now->allocator->snapshot();
      const SystemLock lock(now->lock);
      now->last = now->memory.compare(memory);
    } catch (const std::exception&) {  // the report compares what it finds
    }
  }
  ended.store(true, std::memory_order_relaxed);
}

// Returns "" if CUPTI records, else the problem.
std::string begin(State& now) {
  const Functions& call = now.call;
  static CUpti_SubscriberHandle subscriber = nullptr;
  CUptiResult code = call.subscribe(&subscriber, ignore, nullptr);
  if (code != CUPTI_SUCCESS) return reason(call, code);
  code = call.register_callbacks(request_buffer, take_buffer);
  if (code != CUPTI_SUCCESS) return reason(call, code);
  now.has_source = call.enable_source != nullptr && call.enable_source(1) == CUPTI_SUCCESS;
  code = call.enable(CUPTI_ACTIVITY_KIND_MEMORY2);
  if (code != CUPTI_SUCCESS) return reason(call, code);
  // Records of pools and periodic flushes are optional.
  static_cast<void>(call.enable(CUPTI_ACTIVITY_KIND_MEMORY_POOL));
  if (call.flush_period != nullptr) static_cast<void>(call.flush_period(kFlushPeriodMs));
  return "";
}

std::string start_recording(CachingAllocator& allocator, std::int32_t driver_version) {
  void* const library = open_library(driver_version);
  if (library == nullptr) {
    return "libcupti cannot be opened; set LD_LIBRARY_PATH to its folder, such as the toolkit's "
           "extras/CUPTI/lib64";
  }
  // The real CUPTI cannot work with the simulated driver; the simulator's CUPTI identifies itself.
  if (is_simulated_device() && real_dlsym(library, "vramscope_pretended_cupti") == nullptr) {
    dlerror();
    return "the simulated device has no CUPTI";
  }
  State* const now = new (session_storage) State;
  now->call = functions_of(library);
  now->allocator = &allocator;
  if (!now->call.complete()) return "this libcupti lacks functions that Vramscope needs";
  if (const std::string problem = begin(*now); !problem.empty()) return problem;
  state.store(now, std::memory_order_release);
  std::atexit(at_exit);
  return "";
}

}  // namespace

void start(Recorder& recorder, CachingAllocator& allocator, std::int32_t driver_version) noexcept {
  const int kept = errno;
  try {
    const CallGuard guard(CallGuard::Ends::without_waiting);
    const std::string problem = start_recording(allocator, driver_version);
    if (!problem.empty()) {
      recorder.warn(("--cupti has no effect: " + problem).c_str());
    }
  } catch (const std::exception&) {
    recorder.warn("--cupti has no effect: out of memory");
  }
  errno = kept;
}

void flush() noexcept {
  State* const now = state.load(std::memory_order_acquire);
  if (now == nullptr || ended.load(std::memory_order_relaxed)) return;
  const int kept = errno;
  {
    const CallGuard guard(CallGuard::Ends::without_waiting);
    static_cast<void>(now->call.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  }
  errno = kept;
}

std::optional<CuptiFacts> facts(const Snapshot& memory) {
  State* const now = state.load(std::memory_order_acquire);
  if (now == nullptr) return std::nullopt;
  const SystemLock lock(now->lock);
  return now->last ? *now->last : now->memory.compare(memory);
}

void abandon() noexcept { state.store(nullptr, std::memory_order_relaxed); }

#else

void start(Recorder& recorder, CachingAllocator&, std::int32_t) noexcept {
  recorder.warn("--cupti has no effect: Vramscope was built without the CUPTI headers");
}
void flush() noexcept {}
std::optional<CuptiFacts> facts(const Snapshot&) { return std::nullopt; }
void abandon() noexcept {}

#endif

}  // namespace vramscope::cupti
