// Turns the events of a trace into steps.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/trial/trial_steps.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "reporter/report/traces/trace_memory.h"
#include "reporter/view/trial/phase_finder.h"

namespace vramscope {
namespace {

using What = TrialStep::What;

constexpr std::size_t kMostPlaces = 65535;
constexpr std::uint64_t kTorchSegment = std::uint64_t{2} << 20;

// What a function of the driver means for a replay.
struct FunctionUse {
  bool may_be_served = false;  // by our allocator
  bool is_in_order = false;    // it frees without a wait
  bool begins_capture = false;
  bool ends_capture = false;
  bool exports = false;
};

FunctionUse use_of(std::string_view name) {
  return {.may_be_served =
              name == "cuMemAlloc_v2" || name == "cuMemHostAlloc" || name == "cuMemAllocHost_v2",
          .is_in_order = name.starts_with("cuMemFreeAsync"),
          .begins_capture = name.starts_with("cuStreamBeginCapture"),
          .ends_capture = name.starts_with("cuStreamEndCapture"),
          .exports = name == "cuIpcGetMemHandle" || name == "cuMemGetHandleForAddressRange"};
}

bool is_served(Kind kind) { return kind == Kind::device || kind == Kind::pinned; }

class Writer final : private TraceMemory::Changes {
 public:
  Writer(const TraceReader& reader, TraceOf whose, TrialSteps& steps, PhaseFinder& phase)
      : names_(reader.names()),
        has_streams_(whose == TraceOf::pytorch),
        steps_(steps),
        phase_(phase) {
    for (const std::string& name : names_.functions) functions_.push_back(use_of(name));
    begin_ns_ = names_.process.clock_ns;
    may_be_served_later_ = steps_.recorded.mode != "cache";
  }

  void add(const TraceEvent& one) {
    const Event& event = one.event;
    add_uses_before(one);
    threads_.insert(one.thread);
    phase_.at(event.start_ns, steps_.steps.size());
    now_ = &one;
    was_matched_ = true;
    measure(one);
    if (one.what == trace::What::call) return call(event);
    if (event.serial > serial_) serial_ = event.serial;
    if (one.what == trace::What::place_ended) {
      memory_.add(one, *this);
      if (!is_usable(event.place)) return;
      return push({.place = place(event.place, 0), .what = What::place_ended});
    }
    const bool is_end = one.what == trace::What::went || one.what == trace::What::went_besides;
    was_matched_ = !is_end;
    memory_.add(one, *this);
    steps_.gaps.begins_late |= !was_matched_;
  }

  void finish() {
    for (; next_use_ < steps_.uses.size(); ++next_use_) use(next_use_);
    threads_.erase(0);
    steps_.gaps.has_several_threads = threads_.size() > 1;
    steps_.has_torch_segments = torch_requests_ != 0 && torch_segments_ == torch_requests_;
  }

 private:
  void push(TrialStep step) {
    step.at_ns = at_ns_;
    steps_.steps.push_back(step);
  }

  // A damaged trace may name devices that no machine has.
  [[nodiscard]] bool is_usable(Place where) const {
    return where.device < kMaxDevices &&
           (steps_.places.size() < kMostPlaces || numbers_.contains(where.packed()));
  }

  // Blocks of PyTorch's are exchanged within a place, so each stream is one.
  std::uint16_t place(Place where, Tag tag) {
    if (has_streams_ && tag < names_.facts.tags.size()) {
      where.context = names_.facts.tags[tag].values[static_cast<std::size_t>(Axis::stream)];
    }
    const auto [it, is_new] =
        numbers_.try_emplace(where.packed(), static_cast<std::uint16_t>(steps_.places.size()));
    if (is_new) steps_.places.push_back(where);
    return it->second;
  }

  // A use that was noted after the allocation with the same number, and before the other events.
  void add_uses_before(const TraceEvent& one) {
    const Event& event = one.event;
    const bool is_change = one.what != trace::What::call;
    const bool comes = one.what == trace::What::came || one.what == trace::What::came_besides ||
                       one.what == trace::What::live_before;
    const std::uint64_t serial = is_change ? event.serial : serial_;
    for (; next_use_ < steps_.uses.size(); ++next_use_) {
      const UnrecordedChange& next = steps_.uses[next_use_];
      const bool is_same = next.serial == serial && !comes && next.at_ns <= event.start_ns;
      if (next.serial >= serial && !is_same) break;
      use(next_use_);
    }
    at_ns_ = std::max(at_ns_, event.start_ns - std::min(event.start_ns, begin_ns_));
  }
  void use(std::size_t index) {
    push({.slot = static_cast<std::uint32_t>(index), .what = What::use_changed});
  }

  // Frees by the cache call the driver later, if at all.
  void measure(const TraceEvent& one) {
    const Event& event = one.event;
    if (event.place.kind != Kind::device || event.driver_ns == 0) return;
    MeasuredCalls& measured = steps_.measured;
    if (one.what == trace::What::came) {
      ++measured.allocations;
      measured.in_allocations_ns += event.driver_ns;
    } else if (one.what == trace::What::went && event.served == Served::direct) {
      ++measured.frees;
      measured.in_frees_ns += event.driver_ns;
    }
  }

  void call(const Event& event) {
    const FunctionUse function = function_of(event);
    if (function.begins_capture && !event.failed) push({.what = What::capture_began});
    if (function.ends_capture) push({.what = What::capture_ended});
    steps_.gaps.has_captures |= function.begins_capture;
    steps_.gaps.has_exports |= function.exports && !event.failed;
    const bool is_refused = event.failed && is_allocating(event.effect) && event.bytes != 0;
    if (!is_refused || !holds_memory(event.place.kind) || !is_usable(event.place)) return;
    push({.bytes = event.bytes,
          .place = place(event.place, event.tag),
          .what = function.may_be_served ? What::refused : What::refused_by_driver});
  }

  [[nodiscard]] FunctionUse function_of(const Event& event) const {
    return event.function < functions_.size() ? functions_[event.function] : FunctionUse{};
  }

  // Memory that the driver served although our allocator serves such calls: in the mode of the
  // recording it did not, or a capture was open.
  [[nodiscard]] bool may_be_served(const TraceBlock& block, const Event& event) const {
    if (!is_served(block.place.kind)) return false;
    if (!block.direct) return true;
    const bool is_own = now_->what == trace::What::came;
    return may_be_served_later_ && is_own && function_of(event).may_be_served;
  }

  void came(const TraceBlock& block, const Event& event) override {
    if (!is_usable(block.place)) return;
    steps_.slots = std::max(steps_.slots, block.slot + 1);
    if (slots_.size() <= block.slot) slots_.resize(block.slot + std::size_t{1});
    const bool is_allocated = may_be_served(block, event);
    slots_[block.slot] = is_allocated;
    ++steps_.requests;
    note_owner(block);
    phase_.allocated(now_->thread, block.tag, steps_.steps.size());
    steps_.gaps.has_pools |= block.place.kind == Kind::stream_ordered;
    push({.bytes = block.bytes,
          .slot = block.slot,
          .place = place(block.place, block.tag),
          .what = is_allocated ? What::allocated : What::came});
  }

  // PyTorch's cache asks for multiples of 2 MiB; of tensors some are smaller.
  void note_owner(const TraceBlock& block) {
    if (has_streams_ || block.place.kind != Kind::device) return;
    if (block.tag >= names_.facts.tags.size()) return;
    const auto& values = names_.facts.tags[block.tag].values;
    const std::uint32_t owner = values[static_cast<std::size_t>(Axis::owner)];
    if (owner >= names_.facts.owners.size() || names_.facts.owners[owner] != "PyTorch") return;
    ++torch_requests_;
    torch_segments_ += block.bytes % kTorchSegment == 0 ? 1 : 0;
  }

  void went(const TraceBlock& block, TraceMemory::End how) override {
    was_matched_ = true;
    // The step of the place's end says what is lost with it.
    if (how == TraceMemory::End::lost || !is_usable(block.place)) return;
    const bool in_order = !block.direct && function_of(now_->event).is_in_order;
    const What what = !slots_[block.slot] ? What::went
                      : in_order          ? What::freed_in_order
                                          : What::freed;
    push({.bytes = block.bytes,
          .slot = block.slot,
          .place = place(block.place, block.tag),
          .what = what});
  }

  const TraceNames& names_;
  const bool has_streams_;
  TrialSteps& steps_;
  PhaseFinder& phase_;
  TraceMemory memory_;
  std::vector<FunctionUse> functions_;
  std::unordered_map<std::uint64_t, std::uint16_t> numbers_;
  std::vector<bool> slots_;  // whether our allocator may serve what is in the slot
  std::set<std::uint32_t> threads_;
  const TraceEvent* now_ = nullptr;
  std::size_t next_use_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t at_ns_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t torch_requests_ = 0;
  std::uint64_t torch_segments_ = 0;  // of these
  bool may_be_served_later_ = false;
  bool was_matched_ = true;
};

// Older traces name the mode, and the policy only where it had segments.
RecordedSettings settings_of(const TraceReader& reader, TraceOf whose) {
  RecordedSettings settings;
  const TraceProcess& process = reader.names().process;
  if (whose == TraceOf::pytorch) settings.policy = "pytorch";
  if (whose != TraceOf::vramscope) return settings;
  if (!process.mode.empty()) settings.mode = process.mode;
  for (const SegmentChange& change : reader.segments()) {
    if (change.by_pytorch) settings.policy = "pytorch";
  }
  for (const auto& [name, value] : process.settings) {
    settings.are_known = true;
    if (name == "mode") settings.mode = value;
    if (name == "policy") settings.policy = value;
    if (name == "alloc_conf") settings.alloc_conf = value;
    if (name == "reuse") settings.reuse = value;
    if (name == "exact_fallback") settings.exact_fallback = value;
    if (name == "device_memory_limit") settings.device_memory_limit = value;
  }
  settings.host_bytes = process.host_bytes;
  return settings;
}

void find_devices(TrialSteps& steps) {
  std::set<std::uint16_t> devices;
  for (const Place& place : steps.places) {
    if (takes_device_memory(place.kind)) devices.insert(place.device);
  }
  steps.devices.assign(devices.begin(), devices.end());
  for (const UnrecordedChange& use : steps.uses) {
    if (use.device < kMaxDevices && use.total_bytes != 0) {
      steps.total_bytes[use.device] = use.total_bytes;
    }
  }
}

}  // namespace

std::string read_trial_steps(TraceReader& reader, TraceOf whose, TrialSteps& steps,
                             TrialPhase* phase) {
  steps = {};
  steps.recorded = settings_of(reader, whose);
  steps.uses = reader.unrecorded();
  steps.segments = reader.segments();
  steps.gaps.lost_events = reader.lost();
  steps.gaps.damaged_chunks = reader.damaged();
  steps.gaps.is_cut_off = !reader.is_complete();
  PhaseFinder finder(reader.names(), phase);
  Writer writer(reader, whose, steps, finder);
  const bool read = reader.read(TraceReader::Order::by_change,
                                [&](const TraceEvent& event) { writer.add(event); });
  if (!read) return reader.problem();
  writer.finish();
  find_devices(steps);
  return "";
}

}  // namespace vramscope
