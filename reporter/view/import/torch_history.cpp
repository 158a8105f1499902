// Finds what a history leaves out by what cannot be otherwise.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/torch_history.h"

#include <algorithm>

#include "reporter/view/listing/format.h"

namespace vramscope {

void TorchHistory::note_segment(Place place, Address address, std::uint64_t bytes) {
  if (has_device(place.kind)) reserved_[place.device].at_end.add(address, bytes);
}

void TorchHistory::note_block(Address address, std::uint64_t bytes, std::uint64_t requested) {
  at_end_[address] = {bytes, requested};
}

void TorchHistory::note_action(Kind kind, std::string_view action) {
  Actions& actions = actions_[kind];
  if (action == "alloc") ++actions.allocations;
  if (action == "free_requested") ++actions.requests;
  if (action == "free_completed") ++actions.completions;
}

void TorchHistory::push(ImportedEvent::What what, std::uint64_t time_ns, Address address,
                        const Live& live) {
  run_.events.push_back({.what = what,
                         .time_ns = time_ns,
                         .place = live.place,
                         .tag = live.tag,
                         .address = address,
                         .bytes = live.bytes});
}

// Of a block that was there before the history begins.
void TorchHistory::come_earlier(const Action& action, Tag tag) {
  earlier_.push_back(
      {.place = action.place, .tag = tag, .address = action.address, .bytes = action.bytes});
  earlier_bytes_ += action.bytes;
}

// Some time since another block was there: when, nobody knows.
void TorchHistory::come_unseen(const Action& action, Tag tag) {
  ++allocations_;
  push(ImportedEvent::What::came, action.time_ns, action.address,
       {.place = action.place, .tag = tag, .bytes = action.bytes});
}

// At the latest now.
TorchHistory::LiveBlocks::iterator TorchHistory::end_unseen(LiveBlocks::iterator block,
                                                            std::uint64_t time_ns) {
  const Live& live = block->second;
  if (!live.requested_ns) ++frees_;
  push(ImportedEvent::What::went, live.requested_ns.value_or(time_ns), block->first, live);
  return live_.erase(block);
}

void TorchHistory::end_below(const Action& action) {
  const Address end = Ranges::end_of(action.address, std::max<std::uint64_t>(action.bytes, 1));
  auto next = live_.lower_bound(action.address);
  if (next != live_.begin()) {
    const auto before = std::prev(next);
    if (Ranges::end_of(before->first, before->second.bytes) > action.address) {
      end_unseen(before, action.time_ns);
    }
  }
  while (next != live_.end() && next->first < end) next = end_unseen(next, action.time_ns);
}

void TorchHistory::allocated(const Action& action, Tag tag) {
  last_ns_ = action.time_ns;
  end_below(action);
  const Live live{.place = action.place, .tag = tag, .bytes = action.bytes};
  live_[action.address] = live;
  see(action);
  push(ImportedEvent::What::came, action.time_ns, action.address, live);
}

// Until a free is completed its block is live, as it is in our own reports; where no completion is
// told, until it was asked for.
void TorchHistory::free_requested(const Action& action, const MakeTag& unknown) {
  const auto found = live_.find(action.address);
  if (found != live_.end()) {
    found->second.requested_ns = action.time_ns;
  } else if (actions_[action.place.kind].completions == 0 && !at_end_.contains(action.address)) {
    free_completed(action, unknown);
  }
}

void TorchHistory::free_completed(const Action& action, const MakeTag& unknown) {
  Live live{.place = action.place, .bytes = action.bytes};
  const auto found = live_.find(action.address);
  if (found != live_.end()) {
    live = found->second;
    live_.erase(found);
  } else {
    live.tag = unknown();
    end_below(action);
    was_seen(action) ? come_unseen(action, live.tag) : come_earlier(action, live.tag);
  }
  see(action);
  push(ImportedEvent::What::went, action.time_ns, action.address, live);
}

void TorchHistory::refused(const Action& action, Tag tag, std::uint64_t free_bytes) {
  push(ImportedEvent::What::refused, action.time_ns, 0,
       {.place = action.place, .tag = tag, .bytes = action.bytes});
  run_.events.back().free_bytes = free_bytes;
}

void TorchHistory::reserve(std::uint64_t time_ns, std::uint16_t device, std::int64_t bytes) {
  if (bytes != 0) run_.reservations.push_back({time_ns, device, bytes});
}

void TorchHistory::segment_came(const Action& action) {
  Reserved& reserved = reserved_[action.place.device];
  const std::uint64_t known = reserved.now.add(action.address, action.bytes);
  if (known != 0) {
    ++segment_frees_;
    reserve(action.time_ns, action.place.device, -static_cast<std::int64_t>(known));
  }
  reserved.seen.add(action.address, action.bytes);
  reserve(action.time_ns, action.place.device, static_cast<std::int64_t>(action.bytes));
}

void TorchHistory::segment_went(const Action& action) {
  Reserved& reserved = reserved_[action.place.device];
  const std::uint64_t known = reserved.now.remove(action.address, action.bytes);
  const std::uint64_t unknown = action.bytes - std::min(known, action.bytes);
  if (unknown != 0 && reserved.seen.touches(action.address, action.bytes) && known == 0) {
    ++segment_allocations_;
    reserve(action.time_ns, action.place.device, static_cast<std::int64_t>(unknown));
  }
  reserved.seen.add(action.address, action.bytes);
  reserve(action.time_ns, action.place.device, -static_cast<std::int64_t>(action.bytes));
}

// What was asked for and what the allocator made of it: versions differ in which of them the action
// has.
bool TorchHistory::is_at_end(Address address, const Live& live) const {
  const auto found = at_end_.find(address);
  return found != at_end_.end() &&
         (live.bytes == found->second.requested || live.bytes == found->second.bytes);
}

void TorchHistory::finish(std::uint64_t time_ns) {
  last_ns_ = time_ns;
  for (auto block = live_.begin(); block != live_.end();) {
    block = is_at_end(block->first, block->second) ? std::next(block) : end_unseen(block, time_ns);
  }
  for (auto& [device, reserved] : reserved_) {
    Ranges& gone = reserved.now;
    reserved.at_end.each([&](Address begin, std::uint64_t bytes) { gone.remove(begin, bytes); });
    if (gone.bytes() != 0) ++segment_frees_;
    reserve(time_ns, device, -static_cast<std::int64_t>(gone.bytes()));
  }
}

Tag TorchHistory::live_block(const Action& block, const MakeTag& unknown) {
  const auto found = live_.find(block.address);
  if (found != live_.end()) return found->second.tag;
  const Tag tag = unknown();
  const Action action{last_ns_, block.place, block.address, block.bytes};
  was_seen(action) ? come_unseen(action, tag) : come_earlier(action, tag);
  live_[block.address] = {.place = block.place, .tag = tag, .bytes = block.bytes};
  return tag;
}

void TorchHistory::put_events() {
  std::vector<ImportedEvent>& events = run_.events;
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  if (!events.empty()) {
    for (ImportedEvent& event : earlier_) event.time_ns = events.front().time_ns;
  }
  events.insert(events.begin(), earlier_.begin(), earlier_.end());
}

std::string TorchHistory::left_out() const {
  std::vector<std::string> parts;
  const auto actions = actions_.find(Kind::device);
  const bool has_none = actions == actions_.end() || actions->second.allocations == 0;
  if (frees_ != 0) parts.push_back(counted(frees_, "free"));
  if (has_none && !at_end_.empty()) {
    parts.emplace_back("all allocations");
    const bool has_frees = actions != actions_.end() &&
                           (actions->second.requests != 0 || actions->second.completions != 0);
    if (!has_frees) parts.emplace_back("all frees");
  } else if (allocations_ != 0) {
    parts.push_back(counted(allocations_, "allocation"));
  }
  if (segment_frees_ != 0) parts.push_back(counted(segment_frees_, "free") + " of segments");
  if (segment_allocations_ != 0) {
    parts.push_back(counted(segment_allocations_, "allocation") + " of segments");
  }
  return enumerated(parts);
}

}  // namespace vramscope
