// Follows addresses through a trace, as the allocator does while the program runs.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_memory.h"

#include <algorithm>

namespace vramscope {

using trace::What;

void TraceMemory::end(const TraceBlock& block, End how, Changes& changes) {
  unused_slots_.push_back(block.slot);
  changes.went(block, how);
}

// The driver never hands out a live address. So the program has freed what was at this address, on
// a thread that has not recorded the free yet, or without our seeing it. The allocator counts in
// the same way.
void TraceMemory::end_overlapping(Space space, Address address, std::uint64_t bytes,
                                  Changes& changes) {
  auto it = direct_.lower_bound({space, address});
  if (has_ranges(space) && it != direct_.begin()) {
    const auto below = std::prev(it);
    if (below->first.first == space && below->first.second + below->second.bytes > address) {
      it = below;
    }
  }
  const Key end_of_it{space, address + (has_ranges(space) ? std::max<std::uint64_t>(bytes, 1) : 1)};
  while (it != direct_.end() && it->first < end_of_it) {
    end(it->second, End::freed, changes);
    it = direct_.erase(it);
  }
}

void TraceMemory::come(const Event& event, bool direct, bool passes, Changes& changes) {
  const Key key{space_of(event.place.kind), event.address};
  if (direct) end_overlapping(key.first, key.second, event.bytes, changes);
  TraceBlock block{.place = event.place,
                   .tag = event.tag,
                   .bytes = event.bytes,
                   .direct = direct,
                   .passes = passes,
                   .address = event.address,
                   .born_ns = event.start_ns};
  if (unused_slots_.empty()) {
    block.slot = slots_++;
  } else {
    block.slot = unused_slots_.back();
    unused_slots_.pop_back();
  }
  if (direct) {
    direct_[key] = block;
  } else {
    served_[key] = block;
  }
  changes.came(block, event);
}

// In a damaged trace the allocation may be missing.
void TraceMemory::go(const Event& event, bool direct, Changes& changes) {
  const Key key{space_of(event.place.kind), event.address};
  if (direct) {
    if (const auto it = direct_.find(key); it != direct_.end()) {
      end(it->second, End::freed, changes);
      direct_.erase(it);
    }
  } else if (const auto it = served_.find(key); it != served_.end()) {
    end(it->second, End::freed, changes);
    served_.erase(it);
  }
}

template <class Blocks>
void TraceMemory::end_place(Blocks& blocks, Place place, Changes& changes) {
  std::erase_if(blocks, [&](const auto& entry) {
    if (!(entry.second.place == place)) return false;
    end(entry.second, End::lost, changes);
    return true;
  });
}

void TraceMemory::add(const TraceEvent& one, Changes& changes, bool passes) {
  const Event& event = one.event;
  const bool is_besides = one.what > What::went && one.what != What::live_before;
  const bool direct = is_besides || event.served == Served::direct;
  switch (one.what) {
    case What::came:
    case What::came_besides:
    case What::live_before:
      return come(event, direct, passes, changes);
    case What::went:
    case What::went_besides:
      return go(event, direct, changes);
    case What::place_ended:
      end_place(served_, event.place, changes);
      return end_place(direct_, event.place, changes);
    case What::call:
    case What::thread:
      return;
  }
}

namespace {

class Writer final : public TraceMemory::Changes {
 public:
  explicit Writer(TraceSteps& steps) : steps_(steps) {}
  void came(const TraceBlock& block, const Event&) override {
    steps_.slots = std::max(steps_.slots, block.slot + 1);
    add(TraceStep::What::came, block);
  }
  void went(const TraceBlock& block, TraceMemory::End how) override {
    using What = TraceStep::What;
    add(how == TraceMemory::End::lost ? What::lost : What::freed, block);
  }

 private:
  void add(TraceStep::What what, const TraceBlock& block) {
    steps_.steps.push_back(
        {.what = what, .place = block.place, .slot = block.slot, .bytes = block.bytes});
  }
  TraceSteps& steps_;
};

}  // namespace

bool read_trace_steps(TraceReader& reader, TraceSteps& steps) {
  steps = {};
  TraceMemory memory;
  Writer writer(steps);
  return reader.read(TraceReader::Order::by_change,
                     [&](const TraceEvent& event) { memory.add(event, writer); });
}

}  // namespace vramscope
