// Seeded sequences of allocator calls and faults: see operations.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/model/operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <ostream>
#include <string>

namespace vramscope {
namespace {

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kMiB = 1 << 20;

// Own arithmetic, because the distributions of the standard library differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2654435769u + 88172645463325252u) {}

  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {  // both included
    return low + below(high - low + 1);
  }
  // About log-uniform in [1, 2^bits].
  std::uint64_t scaled(std::uint64_t bits) {
    const std::uint64_t size = 1ull << below(bits);
    return between(size, 2 * size);
  }

 private:
  std::uint64_t state_;
};

std::uint64_t edge_size(Random& random) {
  constexpr std::array<std::uint64_t, 11> kEdges = {512,       kKiB,      kMiB,      kMiB + 512,
                                                    2 * kMiB,  9 * kMiB,  10 * kMiB, 11 * kMiB,
                                                    12 * kMiB, 19 * kMiB, 20 * kMiB};
  const std::uint64_t edge = kEdges[random.below(kEdges.size())];
  const std::uint64_t distance = random.below(4) == 0 ? 512 * random.below(4) : random.below(3);
  return random.below(2) == 0 ? edge + distance : edge - std::min(edge - 1, distance);
}

std::uint64_t size_of(Sizes sizes, Random& random) {
  constexpr std::array<std::uint64_t, 16> kRecurring = {
      4,        512,      2 * kKiB, 10 * kKiB, 64 * kKiB, 300 * kKiB, kMiB,      3 * kMiB / 2,
      2 * kMiB, 3 * kMiB, 5 * kMiB, 8 * kMiB,  10 * kMiB, 13 * kMiB,  24 * kMiB, 40 * kMiB};
  if (random.below(2000) == 0) return 1ull << (59 + random.below(4));  // nobody has that much
  switch (sizes) {
    case Sizes::small:
      return std::min(kMiB, random.scaled(20));
    case Sizes::mixed:
      return random.scaled(26);
    case Sizes::large:
      return random.between(kMiB, 200 * kMiB);
    case Sizes::edges:
      return edge_size(random);
    case Sizes::recurring:
      return kRecurring[random.below(kRecurring.size())];
  }
  return 1;
}

// Most often the one at home.
std::uint32_t place(Random& random, const Scenario& scenario) {
  if (random.below(6) != 0) return scenario.home;
  return static_cast<std::uint32_t>(random.below(scenario.places));
}

bool may_happen(Action action, Faults faults) {
  switch (action) {
    case Action::fail_call:
    case Action::fail_release:
      return faults != Faults::none;
    case Action::capture:
      return faults == Faults::captures || faults == Faults::all;
    case Action::sticky_error:
    case Action::forget_place:
      return faults == Faults::losses || faults == Faults::all;
    default:
      return true;
  }
}

Operation fault(Random& random, const Scenario& scenario) {
  Operation operation{.slot = static_cast<std::uint32_t>(random.below(8))};
  operation.place = static_cast<std::uint32_t>(random.below(scenario.places));
  constexpr std::array kPlain = {
      Action::trim,         Action::trim_pinned,      Action::reset_peaks,
      Action::set_fraction, Action::change_settings,  Action::fail_call,
      Action::fail_release, Action::reset_accumulated};
  if (scenario.policy == Policy::native_safe && random.below(8) == 0) {
    operation.action = Action::others_take;
    operation.number = random.below(200) * kMiB;
    return operation;
  }
  constexpr std::array kRare = {Action::capture, Action::sticky_error, Action::forget_place};
  const bool is_rare = random.below(4) == 0;
  operation.action =
      is_rare ? kRare[random.below(kRare.size())] : kPlain[random.below(kPlain.size())];
  if (!may_happen(operation.action, scenario.faults)) return {};
  if (is_rare) {
    operation.number = random.below(2) * (operation.action == Action::sticky_error ? 700 : 1);
    return operation;
  }
  if (operation.action == Action::set_fraction) operation.number = random.between(400, 1400);
  if (operation.action == Action::change_settings && scenario.changes == 0) return {};
  if (operation.action == Action::change_settings)
    operation.number = random.below(scenario.changes);
  const bool fails = operation.action == Action::fail_call;
  if (fails || operation.action == Action::fail_release) operation.number = random.below(4);
  return operation;
}

Operation wrong_free(Random& random, std::uint32_t slots) {
  constexpr std::array kActions = {Action::free_inside, Action::free_again, Action::free_foreign,
                                   Action::forget_inside};
  Operation operation{.action = kActions[random.below(kActions.size())]};
  operation.slot = static_cast<std::uint32_t>(random.below(slots));
  operation.number = random.below(2) == 0 ? random.between(1, 600) : random.scaled(24);
  return operation;
}

Operation direct(Random& random) {
  Operation operation{.action = random.below(2) == 0 ? Action::adopt : Action::forget};
  operation.slot = static_cast<std::uint32_t>(random.below(8));
  operation.place = static_cast<std::uint32_t>(random.below(6));
  operation.number = random.scaled(24);
  return operation;
}

constexpr std::array kNames = {
    "allocate",        "allocate_whole", "note_export",       "free",
    "free_inside",     "free_again",     "free_foreign",      "adopt",
    "forget",          "forget_inside",  "forget_place",      "trim",
    "trim_pinned",     "reset_peaks",    "reset_accumulated", "set_fraction",
    "change_settings", "fail_call",      "fail_release",      "capture",
    "others_take",     "sticky_error"};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << kNames[static_cast<std::size_t>(operation.action)] << " slot " << operation.slot
             << " place " << operation.place << " number " << operation.number;
}

std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

std::ostream& operator<<(std::ostream& out, Faults faults) {
  constexpr std::array kNamesOfFaults = {"no_faults", "refusals", "captures", "losses", "all"};
  return out << kNamesOfFaults[static_cast<std::size_t>(faults)];
}

void write_sequence(std::ostream& out, const Scenario& scenario,
                    const std::vector<Operation>& operations) {
  out << "slots " << scenario.slots << " settings " << scenario.settings << " capacity "
      << scenario.capacity << " exact_fallback " << scenario.exact_fallback << " at_reuse "
      << (scenario.reuse == ReuseTime::at_reuse) << " reuse_addresses " << scenario.reuse_addresses
      << " native_safe " << (scenario.policy == Policy::native_safe) << " idle_share "
      << scenario.idle_share << '\n';
  for (const Operation& operation : operations) out << operation << '\n';
}

bool read_sequence(std::istream& in, Scenario& scenario, std::vector<Operation>& operations) {
  std::string word;
  bool at_reuse = false;
  bool native_safe = false;
  in >> word >> scenario.slots >> word >> scenario.settings >> word >> scenario.capacity >> word >>
      scenario.exact_fallback >> word >> at_reuse >> word >> scenario.reuse_addresses >> word >>
      native_safe >> word >> scenario.idle_share;
  scenario.policy = native_safe ? Policy::native_safe : Policy::pytorch;
  scenario.reuse = at_reuse ? ReuseTime::at_reuse : ReuseTime::at_free;
  if (!in) return false;
  for (std::string name; in >> name;) {
    const auto action = std::find(kNames.begin(), kNames.end(), name);
    Operation operation;
    in >> word >> operation.slot >> word >> operation.place >> word >> operation.number;
    if (!in || action == kNames.end()) return false;
    operation.action = static_cast<Action>(action - kNames.begin());
    operations.push_back(operation);
  }
  return !operations.empty();
}

std::vector<Operation> make_operations(const Scenario& scenario, std::size_t count) {
  Random random(scenario.seed);
  std::vector<Operation> operations;
  while (operations.size() < count) {
    const std::uint64_t dice = random.below(1000);
    // The share of allocations drifts, so that memory fills up and drains again.
    const std::uint64_t allocations = operations.size() / 700 % 2 == 0 ? 520 : 380;
    Operation operation;
    if (dice < allocations) {
      const bool is_whole = scenario.whole != 0 && random.below(100) < scenario.whole;
      operation.action = is_whole ? Action::allocate_whole : Action::allocate;
      operation.number = size_of(scenario.sizes, random);
      operation.place = place(random, scenario);
      operation.slot = static_cast<std::uint32_t>(random.below(scenario.slots));
    } else if (dice < 910) {
      operation.action = Action::free;
      operation.slot = static_cast<std::uint32_t>(random.below(scenario.slots));
    } else if (dice < 950) {
      operation = wrong_free(random, scenario.slots);
    } else if (scenario.whole != 0 && dice < 955) {
      operation.action = Action::note_export;
      operation.slot = static_cast<std::uint32_t>(random.below(scenario.slots));
      operation.number = random.below(2) == 0 ? 0 : random.scaled(22);
    } else if (dice < 980) {
      operation = direct(random);
    } else {
      operation = fault(random, scenario);
    }
    operations.push_back(operation);
  }
  return operations;
}

std::vector<Operation> shrink(std::vector<Operation> failing, const Check& check) {
  int budget = 1500;  // runs; a bound on the time that a failing test takes
  for (std::size_t step = std::max<std::size_t>(1, failing.size() / 2); step > 0; step /= 2) {
    for (std::size_t begin = 0; begin < failing.size() && --budget > 0;) {
      std::vector<Operation> shorter = failing;
      const auto first = shorter.begin() + static_cast<std::ptrdiff_t>(begin);
      const std::size_t length = std::min(step, failing.size() - begin);
      shorter.erase(first, first + static_cast<std::ptrdiff_t>(length));
      const Failure failure = check(shorter);
      if (failure.what.empty()) {
        begin += step;
        continue;
      }
      shorter.resize(std::min(shorter.size(), failure.index + 1));
      failing = shorter;
    }
  }
  return failing;
}

}  // namespace vramscope
