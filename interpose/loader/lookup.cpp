// SPDX-License-Identifier: Apache-2.0
#include "interpose/loader/lookup.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

#include "allocator/base/fault.h"
#include "interpose/loader/loader.h"
#include "interpose/loader/real.h"
#include "interpose/settings/startup.h"

namespace vramscope {
namespace {

// Our wrappers, by row.
void* const* wrappers() noexcept {
  static void* const table[] = {
#define DRIVER_FUNCTION(symbol, ...) reinterpret_cast<void*>(&::symbol),
#include "interpose/table/functions.def"
  };
  return table;
}

// A plain loop, because clang limits a constant expression to a million steps, and string_view
// takes more.
constexpr int compare(const char* one, const char* other) {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return *one - *other;
}

// Rows sorted by (asked as, since), for bisection. A runtime asks for several hundred names at
// start, most of which are not ours.
constexpr auto kByAskedName = [] {
  std::array<std::uint16_t, kFunctionCount> order{};
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    std::size_t at = i;
    const auto before = [&](std::uint16_t other) {
      const int names = compare(kFunctions[i].asked_as, kFunctions[other].asked_as);
      return names < 0 || (names == 0 && kFunctions[i].since < kFunctions[other].since);
    };
    for (; at > 0 && before(order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = static_cast<std::uint16_t>(i);
  }
  return order;
}();

// Returns the first position in kByAskedName whose name is not less than `name`.
std::size_t first_asked_as(std::string_view name) noexcept {
  std::size_t low = 0;
  std::size_t high = kFunctionCount;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (std::string_view(kFunctions[kByAskedName[middle]].asked_as) < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns the row of an exported symbol, or -1.
int exported_row(const char* name) noexcept {
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    if (std::strcmp(kFunctions[i].symbol, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

bool has_driver_prefix(const char* name) noexcept {  // cuBLAS, cuDNN and curl start with "cu" too
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

struct Answer {
  void* address;
  std::uintptr_t answered;  // 0: ask the C library
};

constexpr const char* kDriver = "libcuda.so.1";

// A libcuda.so.1 may be a wrapper of a driver with another file name.
bool is_behind_driver(const char* name, const void* address) noexcept {
  return symbol_of_mapped(kDriver, name) == address;
}

// Answers dlsym(handle, name) for a name of the table, called by `caller`.
Answer answer(void* handle, const char* name, int found_row, const void* caller) noexcept {
  if (handle == RTLD_NEXT) return {nullptr, 0};
  void* address = real_dlsym(handle, name);
  if (handle == RTLD_DEFAULT || address == wrappers()[found_row]) {
    // The search found our own export first; returns what the program would get without us.
    address = real_dlsym(RTLD_NEXT, name);
  }
  if (address == nullptr) return {nullptr, 1};  // dlerror() says why
  Dl_info real_home{};
  Dl_info asking{};
  if (dladdr(address, &real_home) == 0) return {address, 1};
  const bool in_front = is_driver_file(real_home.dli_fname);
  if (!in_front && !is_behind_driver(name, address)) return {address, 1};
  if (dladdr(caller, &asking) != 0 && asking.dli_fbase == real_home.dli_fbase) {
    return {address, 1};  // the driver looks up itself (seen on WSL2)
  }
  load_real_if_mapped(in_front ? real_home.dli_fname : kDriver);
  Dl_info ours{};  // of two drivers only the first one is intercepted
  if (dladdr(reinterpret_cast<void*>(real().cuInit.pointer()), &ours) != 0 &&
      ours.dli_fbase != real_home.dli_fbase && !is_behind_driver(name, address)) {
    return {address, 1};
  }
  return {wrappers()[found_row], 1};
}

}  // namespace

bool is_intercepted(const char* symbol) noexcept {
  return has_driver_prefix(symbol) && exported_row(symbol) >= 0;
}

// A function without a per-thread flavour answers for both.
const FunctionRow* newest_row(const char* symbol, int version, bool per_thread) noexcept {
  const std::string_view name = symbol;
  const FunctionRow* best = nullptr;
  for (std::size_t i = first_asked_as(name); i < kFunctionCount; ++i) {
    const FunctionRow& candidate = kFunctions[kByAskedName[i]];
    if (name != candidate.asked_as || candidate.since > version) break;
    if (candidate.since == version && fault(Fault::missed_version)) break;
    const bool better = best == nullptr || candidate.per_thread >= best->per_thread;
    if (candidate.per_thread <= per_thread && better) best = &candidate;
  }
  return best;
}

void* wrapper_of(const FunctionRow& row) noexcept { return wrappers()[&row - kFunctions]; }

}  // namespace vramscope

// Called by lookup_gate_*.S for every dlsym of the process.
extern "C" __attribute__((visibility("hidden"))) vramscope::Answer vramscope_lookup(
    void* handle, const char* name, const void* caller) noexcept {
  using namespace vramscope;
  find_real_dlsym();
  if (!has_driver_prefix(name) || switched_off()) return {nullptr, 0};
  const int found = exported_row(name);
  if (found < 0) return {nullptr, 0};
  return answer(handle, name, found, caller);
}
