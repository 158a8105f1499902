// SPDX-License-Identifier: Apache-2.0
#include "interpose/tools/nvtx.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cwchar>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>

#include "allocator/base/capability.h"
#include "allocator/base/kept_errno.h"
#include "interpose/base/clock.h"
#include "interpose/base/guard.h"
#include "interpose/base/message.h"
#include "interpose/driver/profiler.h"
#include "interpose/loader/loader.h"
#include "interpose/settings/private_variables.h"
#include "interpose/settings/startup.h"
#include "interpose/tools/nvtx_extension.h"
#include "interpose/tools/nvtx_table.h"
#include "reporter/record/stream_table.h"

namespace vramscope {
namespace {

// Handles of the program with the names that it gave them. Threads: any.
class Names {
 public:
  void add(const void* handle, std::string name) {
    const SystemLock guard(lock_);
    names_.insert_or_assign(handle, std::move(name));
  }
  [[nodiscard]] std::string find(const void* handle) {
    const SystemLock guard(lock_);
    const auto known = names_.find(handle);
    return known == names_.end() ? std::string() : known->second;
  }
  // Makes a handle if the user's library makes none.
  [[nodiscard]] void* next() noexcept {
    return reinterpret_cast<void*>(last_.fetch_add(16, std::memory_order_relaxed) + 16);
  }

 private:
  SystemMutex lock_;
  std::unordered_map<const void*, std::string> names_ VRAMSCOPE_GUARDED_BY(lock_);
  std::atomic<std::uintptr_t> last_{0};
};

struct State {
  RangeTable ranges;
  Names domains, strings, other_ranges;
};
// Never destroyed, because ranges may end in the program's last exit handlers.
alignas(State) constinit std::byte nvtx_storage[sizeof(State)] = {};
constinit std::atomic<State*> state{nullptr};
constinit std::atomic<bool> abandoned{false};

State* active() noexcept {
  return abandoned.load(std::memory_order_relaxed) ? nullptr
                                                   : state.load(std::memory_order_acquire);
}

// The functions of the user's own injection library; null: not wanted, or no library.
NvtxFunctionPointer other_core[NVTX_CBID_CORE_SIZE];
NvtxFunctionPointer other_core2[NVTX_CBID_CORE2_SIZE];
NvtxFunctionPointer other_driver[NVTX_CBID_CUDA_SIZE];
NvtxFunctionPointer other_runtime[NVTX_CBID_CUDART_SIZE];

template <class Function, class... Arguments>
auto pass_on(NvtxFunctionPointer other, Arguments... arguments) {
  using Result = decltype(Function{}(arguments...));
  if (other != nullptr) return reinterpret_cast<Function>(other)(arguments...);
  if constexpr (!std::is_void_v<Result>) return Result{};
}
#define PASS_ON(module, name, ...) \
  pass_on<nvtx##name##_impl_fntype>(other_##module[CBID_##module(name)] __VA_OPT__(, ) __VA_ARGS__)
// As in NVTX's headers for CUDA, which cannot be included before cudaTypedefs.h.
using nvtxNameCuStreamA_impl_fntype = void (*)(const void* stream, const char* name);
using nvtxNameCuStreamW_impl_fntype = void (*)(const void* stream, const wchar_t* name);
using nvtxNameCudaStreamA_impl_fntype = nvtxNameCuStreamA_impl_fntype;
using nvtxNameCudaStreamW_impl_fntype = nvtxNameCuStreamW_impl_fntype;
#define CBID_driver(name) NVTX_CBID_CUDA_##name
#define CBID_runtime(name) NVTX_CBID_CUDART_##name
#define CBID_core(name) NVTX_CBID_CORE_##name
#define CBID_core2(name) NVTX_CBID_CORE2_##name

void add_utf8(std::string& text, char32_t code) {
  const auto byte = [&](char32_t value) { text += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) return byte(0xc0 | code >> 6), byte(0x80 | (code & 0x3f));
  if (code >= 0x110000) return byte('?');
  if (code < 0x10000) {
    byte(0xe0 | code >> 12);
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
  }
  byte(0x80 | (code >> 6 & 0x3f));
  byte(0x80 | (code & 0x3f));
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }
std::string text_of(const wchar_t* text) {
  std::string result;
  for (; text != nullptr && *text != L'\0'; ++text) {
    add_utf8(result, static_cast<char32_t>(*text));
  }
  return result;
}
std::string text_of(State&, std::string_view text) { return std::string(text); }
template <class Character>
std::string text_of(State&, const Character* text) {
  return text_of(text);
}
std::string text_of(State& now, std::int32_t type, nvtxMessageValue_t message) {
  if (type == NVTX_MESSAGE_TYPE_ASCII) return text_of(message.ascii);
  if (type == NVTX_MESSAGE_TYPE_UNICODE) return text_of(message.unicode);
  if (type == NVTX_MESSAGE_TYPE_REGISTERED) return now.strings.find(message.registered);
  return {};
}
std::string text_of(State& now, const nvtxEventAttributes_t* event) {
  return event == nullptr ? std::string() : text_of(now, event->messageType, event->message);
}

// Runs our part of a call: keeps errno, and hides our failures from the program. It guards the
// thread, because names take memory under our locks and the program's malloc may call CUDA.
template <class F>
auto ours(F&& f) noexcept -> decltype(f(*state.load())) {
  using Result = decltype(f(*state.load()));
  const KeptErrno kept;
  const CallGuard guard(CallGuard::Ends::without_waiting);
  Result result{};
  try {
    if (State* now = active()) result = f(*now);
  } catch (...) {  // no memory for a name: the range is not recorded
  }
  return result;
}

template <class Message>
int push(const void* domain, Message message) noexcept {
  return ours(
      [&](State& now) { return now.ranges.push(now.domains.find(domain), text_of(now, message)); });
}
int pop(const void* domain) noexcept {
  return ours([&](State& now) { return now.ranges.pop(now.domains.find(domain)); });
}

// `other`: the id from the user's own library; 0: none, and the program gets ours.
template <class Message>
nvtxRangeId_t start(const void* domain, Message message, nvtxRangeId_t other) noexcept {
  const std::uint64_t id = ours([&](State& now) {
    const std::uint64_t made = now.ranges.start(now.domains.find(domain), text_of(now, message));
    if (other != 0) {
      now.other_ranges.add(reinterpret_cast<const void*>(other), std::to_string(made));
    }
    return made;
  });
  return other != 0 ? other : id;
}
bool end(nvtxRangeId_t id) noexcept {
  return ours([&](State& now) {
    const std::string known = now.other_ranges.find(reinterpret_cast<const void*>(id));
    now.ranges.end(known.empty() ? id : std::strtoull(known.c_str(), nullptr, 10));
    return true;
  });
}
template <class Message>
bool mark(const void* domain, Message message) noexcept {
  return ours([&](State& now) {
    now.ranges.mark(now_ns(), now.domains.find(domain), text_of(now, message));
    return true;
  });
}

// The program gets the other library's handle if it makes one.
template <class Handle, class Text>
Handle named(Names State::*list, Handle other, Text text) noexcept {
  return ours([&](State& now) {
    Names& names = now.*list;
    const Handle handle = other != nullptr ? other : static_cast<Handle>(names.next());
    names.add(handle, text_of(text));
    return handle;
  });
}

// The bodies of NVTX functions. The other library is called first, and the program gets its
// answers.
int push_depth(int other, int own) { return other != 0 ? other : own; }

void mark_ex(const nvtxEventAttributes_t* e) { PASS_ON(core, MarkEx, e), mark(nullptr, e); }
void mark_a(const char* text) { PASS_ON(core, MarkA, text), mark(nullptr, text); }
void mark_w(const wchar_t* text) { PASS_ON(core, MarkW, text), mark(nullptr, text); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* e) {
  return start(nullptr, e, PASS_ON(core, RangeStartEx, e));
}
nvtxRangeId_t start_a(const char* text) {
  return start(nullptr, text, PASS_ON(core, RangeStartA, text));
}
nvtxRangeId_t start_w(const wchar_t* text) {
  return start(nullptr, text, PASS_ON(core, RangeStartW, text));
}
void end_core(nvtxRangeId_t id) { PASS_ON(core, RangeEnd, id), end(id); }
int push_ex(const nvtxEventAttributes_t* e) {
  const int other = PASS_ON(core, RangePushEx, e);
  return push_depth(other, push(nullptr, e));
}
int push_a(const char* text) {
  const int other = PASS_ON(core, RangePushA, text);
  return push_depth(other, push(nullptr, text));
}
int push_w(const wchar_t* text) {
  const int other = PASS_ON(core, RangePushW, text);
  return push_depth(other, push(nullptr, text));
}
int pop_core() {
  const int other = PASS_ON(core, RangePop);
  return push_depth(other, pop(nullptr));
}

using Domain = nvtxDomainHandle_t;
void domain_mark(Domain d, const nvtxEventAttributes_t* e) {
  PASS_ON(core2, DomainMarkEx, d, e), mark(d, e);
}
nvtxRangeId_t domain_start(Domain d, const nvtxEventAttributes_t* e) {
  return start(d, e, PASS_ON(core2, DomainRangeStartEx, d, e));
}
void domain_end(Domain d, nvtxRangeId_t id) { PASS_ON(core2, DomainRangeEnd, d, id), end(id); }
int domain_push(Domain d, const nvtxEventAttributes_t* e) {
  const int other = PASS_ON(core2, DomainRangePushEx, d, e);
  return push_depth(other, push(d, e));
}
int domain_pop(Domain d) {
  const int other = PASS_ON(core2, DomainRangePop, d);
  return push_depth(other, pop(d));
}
nvtxStringHandle_t register_a(Domain d, const char* text) {
  return named(&State::strings, PASS_ON(core2, DomainRegisterStringA, d, text), text);
}
nvtxStringHandle_t register_w(Domain d, const wchar_t* text) {
  return named(&State::strings, PASS_ON(core2, DomainRegisterStringW, d, text), text);
}
Domain create_a(const char* text) {
  return named(&State::domains, PASS_ON(core2, DomainCreateA, text), text);
}
Domain create_w(const wchar_t* text) {
  return named(&State::domains, PASS_ON(core2, DomainCreateW, text), text);
}

// The runtime's handles are those of the driver.
template <class Text>
bool name_stream(const void* stream, Text text) noexcept {
  return ours([&](State&) {
    Profiler* const profiler = Profiler::active();
    if (profiler == nullptr || text == nullptr) return false;
    profiler->recorder().streams().name(reinterpret_cast<std::uintptr_t>(stream), text_of(text));
    return true;
  });
}
void name_driver_stream_a(const void* stream, const char* name) {
  PASS_ON(driver, NameCuStreamA, stream, name), name_stream(stream, name);
}
void name_driver_stream_w(const void* stream, const wchar_t* name) {
  PASS_ON(driver, NameCuStreamW, stream, name), name_stream(stream, name);
}
void name_runtime_stream_a(const void* stream, const char* name) {
  PASS_ON(runtime, NameCudaStreamA, stream, name), name_stream(stream, name);
}
void name_runtime_stream_w(const void* stream, const wchar_t* name) {
  PASS_ON(runtime, NameCudaStreamW, stream, name), name_stream(stream, name);
}

// The library that NVTX would have loaded without us.
constinit std::atomic<void*> other_library{nullptr};
bool start_other(NvtxGetExportTableFunc_t get_table) {
  const char* const path = std::getenv(kNvtxInjectionVariable);
  if (path == nullptr || *path == '\0') return false;
  void* const library = dlopen(path, RTLD_LAZY);
  other_library.store(library, std::memory_order_release);
  void* const function =
      library == nullptr ? nullptr : real_dlsym(library, "InitializeInjectionNvtx2");
  if (function != nullptr) {
    return reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(function)(get_table) != 0;
  }
  say((std::string("cannot pass NVTX on to '") + path + "'").c_str());
  return false;
}

void make_state() {
  static SystemMutex lock;
  {
    const SystemLock guard(lock);
    if (state.load(std::memory_order_relaxed) != nullptr) return;
    state.store(new (nvtx_storage) State, std::memory_order_release);
  }
  show_ranges();
}

bool take_over(NvtxGetExportTableFunc_t get_table) {
  if (is_in_secure_execution()) return false;  // the environment must not choose libraries
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return start_other(get_table);
  NvtxTable<NVTX_CBID_CORE_SIZE> core(*callbacks, NVTX_CB_MODULE_CORE);
  NvtxTable<NVTX_CBID_CORE2_SIZE> core2(*callbacks, NVTX_CB_MODULE_CORE2);
  NvtxTable<NVTX_CBID_CUDA_SIZE> driver(*callbacks, NVTX_CB_MODULE_CUDA);
  NvtxTable<NVTX_CBID_CUDART_SIZE> runtime(*callbacks, NVTX_CB_MODULE_CUDART);
  const bool has_other = start_other(get_table);
  if (switched_off()) return has_other;
  make_state();
  core.replace(other_core, {{NVTX_CBID_CORE_MarkEx, plain(mark_ex)},
                            {NVTX_CBID_CORE_MarkA, plain(mark_a)},
                            {NVTX_CBID_CORE_MarkW, plain(mark_w)},
                            {NVTX_CBID_CORE_RangeStartEx, plain(start_ex)},
                            {NVTX_CBID_CORE_RangeStartA, plain(start_a)},
                            {NVTX_CBID_CORE_RangeStartW, plain(start_w)},
                            {NVTX_CBID_CORE_RangeEnd, plain(end_core)},
                            {NVTX_CBID_CORE_RangePushEx, plain(push_ex)},
                            {NVTX_CBID_CORE_RangePushA, plain(push_a)},
                            {NVTX_CBID_CORE_RangePushW, plain(push_w)},
                            {NVTX_CBID_CORE_RangePop, plain(pop_core)}});
  core2.replace(other_core2, {{NVTX_CBID_CORE2_DomainMarkEx, plain(domain_mark)},
                              {NVTX_CBID_CORE2_DomainRangeStartEx, plain(domain_start)},
                              {NVTX_CBID_CORE2_DomainRangeEnd, plain(domain_end)},
                              {NVTX_CBID_CORE2_DomainRangePushEx, plain(domain_push)},
                              {NVTX_CBID_CORE2_DomainRangePop, plain(domain_pop)},
                              {NVTX_CBID_CORE2_DomainRegisterStringA, plain(register_a)},
                              {NVTX_CBID_CORE2_DomainRegisterStringW, plain(register_w)},
                              {NVTX_CBID_CORE2_DomainCreateA, plain(create_a)},
                              {NVTX_CBID_CORE2_DomainCreateW, plain(create_w)}});
  driver.replace(other_driver, {{NVTX_CBID_CUDA_NameCuStreamA, plain(name_driver_stream_a)},
                                {NVTX_CBID_CUDA_NameCuStreamW, plain(name_driver_stream_w)}});
  runtime.replace(other_runtime,
                  {{NVTX_CBID_CUDART_NameCudaStreamA, plain(name_runtime_stream_a)},
                   {NVTX_CBID_CUDART_NameCudaStreamW, plain(name_runtime_stream_w)}});
  return true;
}

}  // namespace

RangeTable* ranges() noexcept {
  State* const now = active();
  return now == nullptr ? nullptr : &now->ranges;
}

RangeTable* ranges_or_make() {
  make_state();
  return ranges();
}

// Called after either the profiler or the ranges are made; the second call connects them.
void show_ranges() noexcept {
  const CallGuard guard(CallGuard::Ends::without_waiting);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Profiler* const profiler = Profiler::active();
  RangeTable* const made = ranges();
  if (profiler != nullptr && made != nullptr) profiler->recorder().watch(*made);
}

int push_range(const void* domain, std::string_view name) noexcept { return push(domain, name); }
int pop_range(const void* domain) noexcept { return pop(domain); }
std::uint64_t start_range(const void* domain, std::string_view name, std::uint64_t other) noexcept {
  return start(domain, name, other);
}
void end_range(std::uint64_t id) noexcept { (void)end(id); }
void set_mark(const void* domain, std::string_view name) noexcept { (void)mark(domain, name); }
std::string nvtx_name(const void* domain, std::uint32_t type, const void* message) {
  State* const now = active();
  if (now == nullptr) return {};
  nvtxMessageValue_t value;
  value.ascii = static_cast<const char*>(message);
  const std::string name = text_of(*now, static_cast<std::int32_t>(type), value);
  const std::string prefix = now->domains.find(domain);
  return prefix.empty() ? name : prefix + ":" + name;
}
void* other_nvtx_library() noexcept { return other_library.load(std::memory_order_acquire); }
bool keeps_ranges() noexcept { return active() != nullptr && !is_in_secure_execution(); }

void abandon_ranges() noexcept { abandoned.store(true, std::memory_order_relaxed); }

}  // namespace vramscope

// Each copy of NVTX in the process calls this with its own tables at its first use. Returns 0 for
// no tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  try {
    return vramscope::take_over(get_table) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}
