// TorchHistory follows the actions that a snapshot of PyTorch tells of, also where it leaves some
// out: skip_actions of torch.cuda.memory._record_memory_history().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "reporter/view/import/imported.h"
#include "reporter/view/import/ranges.h"

namespace vramscope {

// What is left out is found by what cannot be otherwise: a block on which another one begins was
// freed before, one that is freed twice was allocated in between, and what is live at the end is
// what the snapshot's segments have. Threads: one. May throw bad_alloc.
class TorchHistory {
 public:
  explicit TorchHistory(ImportedRun& run) : run_(run) {}

  struct Action {
    std::uint64_t time_ns = 0;
    Place place = {};
    Address address = 0;
    std::uint64_t bytes = 0;
  };
  // Before the actions: what the snapshot has at its end, and which actions come at all.
  void note_segment(Place place, Address address, std::uint64_t bytes);
  void note_block(Address address, std::uint64_t bytes, std::uint64_t requested);
  void note_action(Kind kind, std::string_view action);

  using MakeTag = std::function<Tag()>;  // of what was allocated unseen: called only where it was
  // In order of time.
  void allocated(const Action& action, Tag tag);
  void free_requested(const Action& action, const MakeTag& unknown);
  void free_completed(const Action& action, const MakeTag& unknown);
  void refused(const Action& action, Tag tag, std::uint64_t free_bytes);
  void segment_came(const Action& action);
  void segment_went(const Action& action);
  // After them: what is not in the snapshot's segments was freed unseen.
  void finish(std::uint64_t time_ns);

  // Of a block of the snapshot: the tag that it has by the history, else a new one.
  [[nodiscard]] Tag live_block(const Action& block, const MakeTag& unknown);
  // All events in order; what was there before them first. Once, at the end.
  void put_events();

  // What came before the history begins: number and bytes.
  [[nodiscard]] std::uint64_t earlier_count() const { return earlier_.size(); }
  [[nodiscard]] std::uint64_t earlier_bytes() const { return earlier_bytes_; }
  // "5 frees and 3 allocations"; "": nothing.
  [[nodiscard]] std::string left_out() const;

 private:
  struct Live {
    Place place = {};
    Tag tag = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> requested_ns = {};  // its free
  };
  using LiveBlocks = std::map<Address, Live>;
  struct AtEnd {
    std::uint64_t bytes = 0;
    std::uint64_t requested = 0;
  };
  struct Actions {
    std::uint64_t allocations = 0, requests = 0, completions = 0;
  };
  struct Reserved {
    Ranges now, seen, at_end;
  };

  void push(ImportedEvent::What what, std::uint64_t time_ns, Address address, const Live& live);
  void come_earlier(const Action& action, Tag tag);
  void come_unseen(const Action& action, Tag tag);
  void see(const Action& action) {
    seen_.add(action.address, std::max<std::uint64_t>(action.bytes, 1));
  }
  [[nodiscard]] bool was_seen(const Action& action) const {
    return seen_.touches(action.address, std::max<std::uint64_t>(action.bytes, 1));
  }
  LiveBlocks::iterator end_unseen(LiveBlocks::iterator block, std::uint64_t time_ns);
  void end_below(const Action& action);
  [[nodiscard]] bool is_at_end(Address address, const Live& live) const;
  void reserve(std::uint64_t time_ns, std::uint16_t device, std::int64_t bytes);

  ImportedRun& run_;
  LiveBlocks live_;  // none overlaps another
  Ranges seen_;      // where the history has had blocks
  std::unordered_map<Address, AtEnd> at_end_;
  std::map<std::uint16_t, Reserved> reserved_;  // by device
  std::map<Kind, Actions> actions_;
  std::vector<ImportedEvent> earlier_;
  std::uint64_t earlier_bytes_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t frees_ = 0, allocations_ = 0, segment_frees_ = 0,
                segment_allocations_ = 0;  // unseen
};

}  // namespace vramscope
