// Each name that a library exports and that its stand-in does not define otherwise. VRAMSCOPE_NAMES
// is the library's list, whose words say what a function answers.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/missing_call.h"
#include "test/simulator/libraries/arguments.h"
#include "test/simulator/libraries/stand_in.h"

// Aliases are declared without what the compiler finds out about these two.
#pragma GCC diagnostic ignored "-Wmissing-attributes"

using namespace vramscope::simulator;

// As cuBLAS calls them, and as cuSOLVER and cuSPARSE do: their lists have more words than two.
[[maybe_unused]] static constexpr bool kIsBlas = VRAMSCOPE_NOT_SUPPORTED == 15;
[[maybe_unused]] static constexpr int kAllocationFailed = kIsBlas ? 3 : 2;
[[maybe_unused]] static constexpr int kInvalidValue = kIsBlas ? 7 : 3;

#pragma GCC visibility push(default)
extern "C" {

static int accept() { return 0; }

// Success, and nothing is done; or "not supported".
#define NAME(function) __attribute__((weak, alias("accept"))) int function();
#define UNSUPPORTED(function)            \
  __attribute__((weak)) int function() { \
    tell_missing(#function);             \
    return VRAMSCOPE_NOT_SUPPORTED;      \
  }

// Work on the stream of a handle, the first argument.
#define WORK(function) \
  int function(const void* handle) { return enqueue_for(handle); }

// A descriptor is made and unmade.
#define MAKE(function) \
  int function(void** made) { return make_opaque(made, kInvalidValue, kAllocationFailed); }
#define UNMAKE(function) \
  int function(const Opaque* made) { return unmake_opaque(made); }

// A result in memory of the host, after so many arguments: 0, which is the rule for a workspace
// that no documentation tells the size of; two of them; and -1, which says that there is none.
#define INT(function, before) \
  int function(BEFORE_##before int* into) { return write_result(into, 0, kInvalidValue); }
#define SIZE(function, before)                                \
  int function(BEFORE_##before std::size_t* into) {           \
    return write_result(into, std::size_t{0}, kInvalidValue); \
  }
#define SIZES(function, before)                                        \
  int function(BEFORE_##before std::size_t* one, std::size_t* other) { \
    write_result(other, std::size_t{0}, kInvalidValue);                \
    return write_result(one, std::size_t{0}, kInvalidValue);           \
  }
#define NONE(function, before) \
  int function(BEFORE_##before int* into) { return write_result(into, -1, kInvalidValue); }

// What a solver says in memory of the device, so many arguments after the handle: solved. For each
// of a batch, whose size comes a little later; and with a result of the host before or after it,
// which is 0.
#define INFO(function, between)                                  \
  int function(const void* handle, BEFORE_##between int* info) { \
    return write_solved(handle, info, 1);                        \
  }
#define INFOS(function, between, later)                                                    \
  int function(const void* handle, BEFORE_##between int* info, BEFORE_##later int batch) { \
    return write_solved(handle, info, batch);                                              \
  }
#define ITERATIONS(function, between)                                             \
  int function(const void* handle, BEFORE_##between int* iterations, int* info) { \
    write_result(iterations, 0, kInvalidValue);                                   \
    return write_solved(handle, info, 1);                                         \
  }
#define NORM(function, between)                                                \
  int function(const void* handle, BEFORE_##between int* info, double* norm) { \
    write_result(norm, 0.0, kInvalidValue);                                    \
    return write_solved(handle, info, 1);                                      \
  }
#define NORMS(function, between)                                                           \
  int function(const void* handle, BEFORE_##between int* info, double* norms, int batch) { \
    for (int i = 0; norms != nullptr && i < batch; ++i) norms[i] = 0;                      \
    return write_solved(handle, info, batch);                                              \
  }
// Where the handle's pointer mode says: no entries, and no pivot that is zero.
#define COUNT(function, between)                                  \
  int function(const void* handle, BEFORE_##between int* count) { \
    return write_by_mode(handle, count, 0);                       \
  }
#define NO_PIVOT(function, between)                                  \
  int function(const void* handle, BEFORE_##between int* position) { \
    return write_by_mode(handle, position, 0xff);                    \
  }
// Of a batch, and in memory of the host of the call.
#define INT_INFOS(function, between)                                                   \
  int function(const void* handle, BEFORE_##between int* call, int* info, int batch) { \
    write_result(call, 0, kInvalidValue);                                              \
    return write_solved(handle, info, batch);                                          \
  }
// What a reduction finds, where the handle's pointer mode says that it is read on the host; and
// where an argument says of which type it is.
#define RESULT(type, value, function, between)                    \
  int function(const void* handle, BEFORE_##between type* into) { \
    return write_on_host(handle, into, type{value});              \
  }
#define RESULT_OF(function, between)                                        \
  int function(const void* handle, BEFORE_##between void* into, int type) { \
    return write_zero_on_host(handle, into, type);                          \
  }
// Eigenvalues in a range: all that there are.
#define FOUND(type, function, between, later, last)                                       \
  int function(const void* handle, BEFORE_##between type all, BEFORE_##later type* found, \
               BEFORE_##last int* info) {                                                 \
    write_result(found, all, kInvalidValue);                                              \
    return write_solved(handle, info, 1);                                                 \
  }
#include VRAMSCOPE_NAMES

}  // extern "C"
#pragma GCC visibility pop
