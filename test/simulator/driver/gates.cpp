// The exported symbols: each goes through a slot to a gate that admits the call and runs the
// body. Derived from the table; nothing is typed twice.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/driver/gates.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include "test/simulator/device/entry.h"
#include "test/simulator/device/refused_program.h"
#include "test/simulator/driver/busy_wait.h"

namespace vramscope::simulator {

namespace {

// Sets the meaning of the default stream for one call, and back: host functions and callbacks may
// call in again.
class FlavourScope {
 public:
  explicit FlavourScope(Flavour flavour) : current_(default_stream_flavour()), before_(current_) {
    current_ = flavour;
  }
  ~FlavourScope() { current_ = before_; }

 private:
  Flavour& current_;  // the thread's: asking for it again takes a call of the loader
  const Flavour before_;
};

template <Flavour kFlavour, auto kBody, class... Parameters>
[[gnu::noinline]] CUresult run(Parameters... arguments) {
  const FlavourScope scope(kFlavour);
  try {
    return kBody(arguments...);
  } catch (const std::bad_alloc&) {  // no exception crosses a C function
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Null, or whom a program that is a test has named.
constinit std::atomic<void (*)()> told_of_answers{nullptr};

void tell_answer() {
  if (auto* const told = told_of_answers.load(std::memory_order_acquire)) told();
}

template <auto kBody>
constexpr bool kCancels = false;
#define CANCELS(symbol) \
  template <>           \
  constexpr bool kCancels<&body::symbol> = true;
#include "test/simulator/driver/cancellation_points.def"

// No frame here has anything to clean up: a thread that is cancelled asynchronously may be at any
// instruction. What needs no context and is no cancellation point waits for nothing and costs a few
// ns: a guard would double that.
template <Flavour kFlavour, Needs kNeeds, auto kBody, class... Parameters>
CUresult enter(Parameters... arguments) {
  note_call();
  if (const CUresult refusal = admit(kNeeds); refusal != CUDA_SUCCESS) return refusal;
  if constexpr (kNeeds != Needs::context && !kCancels<kBody>) {
    return run<kFlavour, kBody>(arguments...);
  } else {
    if constexpr (kCancels<kBody>) {
      if (!configuration().cancels_late) pthread_testcancel();
    }
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    cancel_state_of_program() = before;
    const CUresult code = run<kFlavour, kBody>(arguments...);
    cancel_state_of_program() = PTHREAD_CANCEL_DISABLE;
    tell_answer();
    pthread_setcancelstate(before, &before);
    if constexpr (kCancels<kBody>) pthread_testcancel();
    return code;
  }
}

template <Flavour kFlavour, Needs kNeeds, auto kBody, class... Parameters>
constexpr auto gate(CUresult (*)(Parameters...)) {
  return &enter<kFlavour, kNeeds, kBody, Parameters...>;
}

CUresult of_first_generation() {
  const CUresult refusal = admit(Needs::context);
  return refusal == CUDA_SUCCESS ? CUDA_ERROR_INVALID_CONTEXT : refusal;
}

void say_missing(const char* function) {
  static std::mutex& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string_view>;
  if (!configuration().says_missing) return;
  const std::lock_guard lock(mutex);
  if (said.insert(function).second) say_once(std::string(function) + " is not simulated");
}

CUresult unsupported(const char* function) {
  const CUresult refusal = admit(Needs::driver);
  if (refusal != CUDA_SUCCESS) return refusal;
  say_missing(function);
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

// One exported symbol, its hidden twin (the address that cuGetProcAddress gives out, which no
// preloaded library can change), and the way to the gate.
#define EXPORT(symbol)                                                                         \
  VRAMSCOPE_ENTRY(symbol, ".globl " #symbol "\n.type " #symbol                                 \
                          ", @function\n"                                                      \
                          ".globl vramscope_gate_" #symbol "\n.hidden vramscope_gate_" #symbol \
                          "\n.type vramscope_gate_" #symbol ", @function\n" #symbol            \
                          ":\nvramscope_gate_" #symbol ":\n")

#define SLOT(symbol, body, flavour, needs)                \
  extern "C" {                                            \
  constinit auto vramscope_slot_##symbol [[gnu::used]] =  \
      gate<Flavour::flavour, Needs::needs, &body>(&body); \
  }                                                       \
  EXPORT(symbol)

#define DRIVER(symbol, asked, since, needs) SLOT(symbol, body::symbol, legacy, needs)
#define STREAMED(symbol, asked, since, suffix, needs) \
  SLOT(symbol, body::symbol, legacy, needs)           \
  SLOT(symbol##suffix, body::symbol, per_thread, needs)
#include "test/simulator/driver/functions.def"

#define ALL_REFUSED(symbol, refusal)                              \
  extern "C" {                                                    \
  constinit auto vramscope_slot_##symbol [[gnu::used]] = refusal; \
  }                                                               \
  EXPORT(symbol)
#define UNSUPPORTED(symbol, asked, since) \
  ALL_REFUSED(                            \
      symbol, +[] { return unsupported(#symbol); })
#define FIRST_GENERATION(symbol, asked, since) ALL_REFUSED(symbol, &of_first_generation)
#define UNSUPPORTED_STREAMED(symbol, asked, since, suffix) \
  UNSUPPORTED(symbol, asked, since)                        \
  UNSUPPORTED(symbol##suffix, asked, since)
#include "test/simulator/driver/unsupported.def"

}  // namespace vramscope::simulator

// How many kernels this process's simulated devices accepted.
extern "C" [[gnu::visibility("default")]] std::uint64_t vramscope_simulated_launches() {
  using namespace vramscope::simulator;
  return admit(Needs::driver) == CUDA_ERROR_NOT_INITIALIZED ? 0 : driver().launches.load();
}

// Other processes use this process's devices (VRAMSCOPE_SIM=shared=...).
extern "C" [[gnu::visibility("default")]] bool vramscope_simulated_shared() {
  using namespace vramscope::simulator;
  return admit(Needs::driver) != CUDA_ERROR_NOT_INITIALIZED && shared_use() != nullptr;
}

// Names a function of a simulated runtime or library that is called and not simulated
// (VRAMSCOPE_SIM=says_missing=1).
extern "C" [[gnu::visibility("default")]] void vramscope_simulated_missing(const char* function) {
  using namespace vramscope::simulator;
  if (admit(Needs::driver) != CUDA_ERROR_NOT_INITIALIZED) say_missing(function);
}

// Tells `watcher` of memory that comes and goes from now on. For the pretended CUPTI.
extern "C" [[gnu::visibility("default")]] void vramscope_simulated_watch(
    vramscope::simulator::Watcher watcher) {
  using namespace vramscope::simulator;
  if (admit(Needs::driver) == CUDA_SUCCESS) driver().memory.watch(watcher);
}

// The k-th allocation call of the device from now on fails (0: none), and every call answers
// `sticky` (0: none does). For programs that are tests.
extern "C" [[gnu::visibility("default")]] void vramscope_simulated_fault(int device,
                                                                         std::uint64_t fail_in,
                                                                         int sticky) {
  using namespace vramscope::simulator;
  if (admit(Needs::driver) != CUDA_SUCCESS) return;
  Device* const chosen = driver().device(device);
  if (chosen == nullptr) return;
  if (fail_in != 0) chosen->accounts.fail_call(fail_in);
  if (sticky != 0) chosen->accounts.set_sticky(sticky);
}

// Calls `told` whenever a function has done its work and has not returned yet, on the thread that
// called it: what others do meanwhile is then certain. Of functions that need a context or may end
// a thread. For programs that are tests.
extern "C" [[gnu::visibility("default")]] void vramscope_simulated_answers(void (*told)()) {
  vramscope::simulator::told_of_answers.store(told, std::memory_order_release);
}
