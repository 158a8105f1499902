// Seeded sequences of allocator calls and faults for the model test.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "allocator/base/limits.h"

namespace vramscope {

enum class Action : std::uint8_t {
  allocate,           // `number` bytes at place `place` into the slot
  allocate_whole,     // the same, dedicated
  note_export,        // `number` bytes behind the start of what is in the slot
  free,               // what is in the slot
  free_inside,        // `number` bytes behind the start of what is in the slot
  free_again,         // the address that the slot held last
  free_foreign,       // the address `number`, never given out
  adopt,              // `number` bytes of kind and device `place` into the direct slot
  forget,             // what is in the direct slot
  forget_inside,      // `number` bytes behind its start
  forget_place,       // place `place`
  trim,               //
  trim_pinned,        //
  reset_peaks,        //
  reset_accumulated,  //
  set_fraction,       // `number` thousandths; above 1000: no limit
  change_settings,    // to the `number`-th settings string of the test
  fail_call,          // the `number`-th reserve from now; 0: none
  fail_release,       // the `number`-th release from now; 0: none
  capture,            // `number`: 1 begins, 0 ends
  others_take,        // so that `number` bytes of device `place` are recorded nowhere
  sticky_error,       // `number`: the code that every backend call answers; 0: healed
};

struct Operation {
  Action action = Action::trim;
  std::uint32_t slot = 0;
  std::uint32_t place = 0;
  std::uint64_t number = 0;
};

std::ostream& operator<<(std::ostream& out, const Operation& operation);

enum class Sizes : std::uint8_t {
  small,      // up to 1 MiB, most far below
  mixed,      // log-uniform from 1 byte to 64 MiB
  large,      // 1 MiB to 200 MiB
  edges,      // beside the sizes at which the policy changes
  recurring,  // sixteen sizes, again and again
};

inline constexpr std::uint32_t kSizes = 5;

// What goes wrong besides want of room.
enum class Faults : std::uint8_t {
  none,      // nothing
  refusals,  // allocations and releases that the backend refuses
  captures,  // and captures, which forbid waits and releases
  losses,    // and sticky errors, and places that vanish
  all,
};
inline constexpr std::array kFaults = {Faults::none, Faults::refusals, Faults::captures,
                                       Faults::losses, Faults::all};

std::ostream& operator<<(std::ostream& out, Faults faults);

struct Scenario {
  const char* name = "";
  std::uint64_t seed = 0;
  Sizes sizes = Sizes::mixed;
  std::uint32_t slots = 64;    // most blocks alive
  std::uint32_t places = 3;    // contexts, devices, host; with one the allocator takes shorter ways
  std::uint32_t home = 0;      // place of most requests
  std::uint32_t settings = 0;  // string that it begins with
  std::uint32_t changes = 0;   // how many strings change_settings chooses from; 0: never
  std::uint64_t capacity = 16ull << 30;
  bool exact_fallback = false;
  ReuseTime reuse = ReuseTime::at_free;
  Policy policy = Policy::pytorch;
  double idle_share = Limits::kIdleShare;
  bool reuse_addresses = false;  // of released segments, as drivers do
  std::uint32_t whole = 0;       // per cent of the requests that are dedicated
  Faults faults = Faults::all;
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario);

// A sequence as text: a line with what the scenario is made of, and one for each operation.
void write_sequence(std::ostream& out, const Scenario& scenario,
                    const std::vector<Operation>& operations);
// False: it is not one.
[[nodiscard]] bool read_sequence(std::istream& in, Scenario& scenario,
                                 std::vector<Operation>& operations);

// `count` operations; the same scenario gives the same sequence everywhere.
std::vector<Operation> make_operations(const Scenario& scenario, std::size_t count);

// What went wrong when the operations ran, and where.
struct Failure {
  std::size_t index = 0;
  std::string what;  // empty: nothing
};
using Check = std::function<Failure(const std::vector<Operation>&)>;

// A short sequence that still fails: what can be left out is left out.
std::vector<Operation> shrink(std::vector<Operation> failing, const Check& check);

}  // namespace vramscope
