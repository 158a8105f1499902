// The allocator against the naive model, driven in step: see duel.h.
// SPDX-License-Identifier: Apache-2.0
#include "test/model/duel.h"

#include <array>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "interpose/settings/alloc_conf.h"
#include "test/model/comparison.h"
#include "test/model/naive_model.h"
#include "test/model/scenarios.h"
#include "test/simulator/device/simulated_backend.h"

namespace vramscope {
namespace {

const std::array<Place, 5> kPlaces = {Place{Kind::device, 0, 0}, Place{Kind::device, 0, 1},
                                      Place{Kind::device, 1, 2}, Place{Kind::pinned, 0, 3},
                                      Place{Kind::pinned, 0, 4}};
// Places of memory that the program gets directly.
const std::array<Place, 6> kDirect = {
    Place{Kind::device, 0, 0},     Place{Kind::device, 1, 2},  Place{Kind::pinned, 0, 0},
    Place{Kind::registered, 0, 0}, Place{Kind::managed, 0, 0}, Place{Kind::stream_ordered, 1, 2}};
constexpr Status kRefused{Result::failed, 900};
constexpr Address kFirstDirect = 0x500000000000;
constexpr Address kDirectStep = 1ull << 32;

Tag tag_of(Place where, std::uint32_t slot) {
  return 1 + account_index(where.kind, where.device) * kTagsPerAccount + slot % kTagsPerAccount;
}

std::string text_of(const Outcome& outcome) {
  std::ostringstream out;
  out << "result " << static_cast<int>(outcome.status.result) << " code " << outcome.status.code;
  if (!outcome.status.ok()) return out.str();
  out << " address 0x" << std::hex << outcome.address << std::dec << " rounded " << outcome.rounded
      << " requested " << outcome.requested << " tag " << outcome.tag << " device "
      << outcome.where.device << " context " << outcome.where.context;
  return out.str();
}

simulator::DeviceModel model_of(const Scenario& scenario) {
  simulator::DeviceModel model;
  model.capacity = scenario.capacity;
  model.reuse_addresses = scenario.reuse_addresses;
  return model;
}

// Both allocators, each over its own backend, driven in step.
class Duel {
 public:
  explicit Duel(const Scenario& scenario)
      : our_device_(model_of(scenario)),
        model_device_(model_of(scenario)),
        limits_(parse_alloc_conf(kSettings[scenario.settings],
                                 {.policy = scenario.policy,
                                  .idle_share = scenario.idle_share,
                                  .exact_fallback = scenario.exact_fallback,
                                  .reuse = scenario.reuse})
                    .limits),
        ours_(our_backend_, limits_),
        model_(model_backend_, limits_),
        slots_(scenario.slots),
        last_(scenario.slots),
        direct_(kDirectSlots) {
    join_tags(kPlaces);
    join_tags(kDirect);
    // A backend call is an instant at which anybody may ask: the lock is free, all totals agree.
    our_backend_.on_reserve([this](Place, std::size_t) { look_inside(); });
    our_backend_.on_wait([this](Place) { look_inside(); });
    our_backend_.on_release([this](Place, Address) { look_inside(); });
  }

  // What differs after this call, or nothing.
  std::string perform(const Operation& operation) {
    std::string found = act(operation);
    if (found.empty()) found = inside_;
    if (found.empty() && !(our_device_.counters() == model_device_.counters())) {
      found = "the backends were called differently";
    }
    if (found.empty() && limits_.reuse == ReuseTime::at_reuse && !asked_alike()) {
      found = "the devices were asked differently";
    }
    for (std::uint16_t device = 0; device < 2 && found.empty(); ++device) {
      if (ours_.idle_bytes(device) != model_.idle_bytes(device)) found = "idle_bytes differ";
    }
    return found;
  }

  // What differs or does not add up in a full snapshot, or nothing.
  [[nodiscard]] std::string compare() const {
    const Snapshot snapshot = ours_.snapshot();
    const std::string found = difference(snapshot, model_);
    return found.empty() ? inconsistency(snapshot) : found;
  }

 private:
  // Somebody asks for more than totals: all kinds together are followed.
  template <class Places>
  void join_tags(const Places& places) {
    for (const Place where : places) {
      for (std::uint32_t slot = 0; slot < kTagsPerAccount; ++slot) {
        ours_.join(tag_of(where, slot), {});
      }
    }
  }

  static constexpr std::size_t kDirectSlots = 8;

  // Not at_free: there a wait may come before it is clear that there is nothing to free.
  [[nodiscard]] bool asked_alike() const {
    return our_backend_.waits() == model_backend_.waits() &&
           our_backend_.probes() == model_backend_.probes();
  }

  void look_inside() {
    const std::string found = inconsistency(ours_.snapshot());
    if (!found.empty() && inside_.empty()) inside_ = "during a backend call: " + found;
  }

  std::string act(const Operation& operation) {
    switch (operation.action) {
      case Action::allocate:
      case Action::allocate_whole:
        return allocate(operation);
      case Action::note_export:
        return note_export(operation);
      case Action::free:
        return free(operation.slot);
      case Action::free_inside:
        if (slots_[operation.slot] == 0) return {};
        return refused(slots_[operation.slot] + operation.number);
      case Action::free_again:
        if (last_[operation.slot] == 0) return {};
        return refused(last_[operation.slot]);
      case Action::free_foreign:
        return refused(operation.number);
      case Action::adopt:
        return adopt(operation);
      case Action::forget:
        return forget(operation.slot);
      case Action::forget_inside:
        return forget_wrong(operation);
      default:
        return other(operation);
    }
  }

  std::string other(const Operation& operation) {
    switch (operation.action) {
      case Action::forget_place:
        forget_place(kPlaces[operation.place]);
        break;
      case Action::trim:
        ours_.trim(), model_.trim();
        break;
      case Action::trim_pinned:
        for (const Place where : {kPlaces[3], kPlaces[4]}) {
          ours_.trim_pinned(where), model_.trim_pinned(where);
        }
        break;
      case Action::change_settings:
        limits_ = parse_alloc_conf(kSettings[operation.number], limits_).limits;
        ours_.set_limits(limits_);
        model_.set_limits(limits_);
        break;
      case Action::reset_peaks:
        ours_.reset_peaks(), model_.reset_peaks();
        break;
      case Action::reset_accumulated:
        ours_.reset_accumulated();
        model_.reset_accumulated();
        break;
      case Action::set_fraction:
        set_fraction(operation.number);
        break;
      case Action::fail_call:
        our_device_.fail_call(operation.number);
        model_device_.fail_call(operation.number);
        break;
      case Action::fail_release:
        our_device_.fail_release(operation.number, kRefused);
        model_device_.fail_release(operation.number, kRefused);
        break;
      case Action::capture:
        our_backend_.set_may_wait(operation.number == 0);
        model_backend_.set_may_wait(operation.number == 0);
        break;
      case Action::others_take:
        ours_.note_unrecorded(kPlaces[operation.place].device, operation.number);
        model_.note_unrecorded(kPlaces[operation.place].device, operation.number);
        break;
      case Action::sticky_error:
        our_device_.set_sticky(static_cast<std::int32_t>(operation.number));
        model_device_.set_sticky(static_cast<std::int32_t>(operation.number));
        break;
      default:
        return "unknown action";
    }
    return {};
  }

  std::string allocate(const Operation& operation) {
    if (slots_[operation.slot] != 0) return {};
    const Place where = kPlaces[operation.place];
    const Request request{.where = where,
                          .bytes = operation.number,
                          .tag = tag_of(where, operation.slot),
                          .dedicated = operation.action == Action::allocate_whole};
    const Outcome ours = ours_.allocate(request);
    const Outcome expected = model_.allocate(request);
    if (ours.status.ok()) slots_[operation.slot] = ours.address;
    if (ours.source != expected.source) return "source differs: " + text_of(ours);
    return compared(ours, expected);
  }

  std::string note_export(const Operation& operation) {
    if (slots_[operation.slot] == 0) return {};
    const Address address = slots_[operation.slot] + operation.number;
    const bool ours = ours_.note_export(address).exported;
    return ours == model_.note_export(address) ? "" : "note_export() differs";
  }

  std::string free(std::uint32_t slot) {
    if (slots_[slot] == 0) return {};
    const Outcome ours = ours_.free(slots_[slot]);
    const Outcome expected = model_.free(slots_[slot]);
    if (ours.status.ok()) last_[slot] = std::exchange(slots_[slot], 0);
    return compared(ours, expected);
  }

  // An address that is most often not the start of a live block; the model knows when it is.
  std::string refused(Address address) {
    if (ours_.find(address).owned != model_.owns(address)) return "owners differ";
    const Outcome ours = ours_.free(address);
    const Outcome expected = model_.free(address);
    for (std::size_t slot = 0; slot < slots_.size() && ours.status.ok(); ++slot) {
      if (slots_[slot] == address) last_[slot] = std::exchange(slots_[slot], 0);
    }
    return compared(ours, expected);
  }

  std::string adopt(const Operation& operation) {
    const std::uint32_t slot = operation.slot % kDirectSlots;
    if (direct_[slot] != 0) return {};
    const Place where = kDirect[operation.place];
    const Address address = kFirstDirect + slot * kDirectStep;
    direct_[slot] = address;
    const Tag tag = tag_of(where, slot);
    return compared(ours_.adopt(where, address, operation.number, tag),
                    model_.adopt(where, address, operation.number, tag));
  }

  std::string forget(std::uint32_t slot) {
    if (direct_[slot % kDirectSlots] == 0) return {};
    const Address address = std::exchange(direct_[slot % kDirectSlots], 0);
    return compared(ours_.forget(address), model_.forget(address));
  }

  // The middle of adopted memory and a block of ours: neither may be forgotten.
  std::string forget_wrong(const Operation& operation) {
    const Address direct = direct_[operation.slot % kDirectSlots];
    for (const Address address : {slots_[operation.slot], direct ? direct + operation.number : 0}) {
      if (address == 0) continue;
      const std::string found = compared(ours_.forget(address), model_.forget(address));
      if (!found.empty()) return found;
    }
    return {};
  }

  void forget_place(Place where) {
    ours_.forget_place(where);
    model_.forget_place(where);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (slots_[slot] != 0 && !model_.owns(slots_[slot])) slots_[slot] = 0;
    }
    for (Address& address : direct_) {
      if (address != 0 && !is_adopted(address)) address = 0;
    }
  }

  [[nodiscard]] bool is_adopted(Address address) const {
    for (const ModelSegment& segment : model_.segments()) {
      if (segment.is_direct && segment.address == address) return true;
    }
    return false;
  }

  void set_fraction(std::uint64_t thousandths) {
    limits_.memory_fraction = thousandths > 1000 ? -1.0 : static_cast<double>(thousandths) / 1000;
    ours_.set_limits(limits_);
    model_.set_limits(limits_);
  }

  static std::string compared(const Outcome& ours, const Outcome& expected) {
    if (text_of(ours) == text_of(expected)) return {};
    return text_of(ours) + "\n  expected " + text_of(expected);
  }

  simulator::SimulatedDevice our_device_;
  simulator::SimulatedDevice model_device_;
  simulator::SimulatedBackend our_backend_{our_device_};
  simulator::SimulatedBackend model_backend_{model_device_};
  Limits limits_;
  CachingAllocator ours_;
  NaiveModel model_;
  std::vector<Address> slots_;   // 0: empty
  std::vector<Address> last_;    // what the slot held before
  std::vector<Address> direct_;  // adopted memory
  std::string inside_;           // what did not add up during a backend call
};

}  // namespace

Failure run(const Scenario& scenario, const std::vector<Operation>& operations, std::size_t every) {
  Duel duel(scenario);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    std::string found = duel.perform(operations[i]);
    if (found.empty() && (i + 1) % every == 0) found = duel.compare();
    if (!found.empty()) return {i, found};
  }
  return {operations.size(), duel.compare()};
}

}  // namespace vramscope
