// TorchHistory follows the actions in a snapshot of PyTorch, even if some actions were left out:
// skip_actions of torch.cuda.memory._record_memory_history().
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

// Missing actions follow from what must have happened. A block on which another one begins was
// freed before; a block that is freed twice was allocated in between; what is live at the end is
// what the snapshot's segments contain. Threads: one. May throw bad_alloc.
class TorchHistory {
 public:
  explicit TorchHistory(ImportedRun& run) : run_(run) {}

  struct Action {
    std::uint64_t time_ns = 0;
    Place place = {};
    Address address = 0;
    std::uint64_t bytes = 0;
  };
  // Must be called before the actions: what the snapshot has at its end, and which actions occur at
  // all.
  void note_segment(Place place, Address address, std::uint64_t bytes);
  void note_block(Address address, std::uint64_t bytes, std::uint64_t requested);
  void note_action(Kind kind, std::string_view action);

  using MakeTag = std::function<Tag()>;  // makes the tag of an unseen allocation; called only for
                                         // such an allocation
  // Must be called in order of time.
  void allocated(const Action& action, Tag tag);
  void free_requested(const Action& action, const MakeTag& unknown);
  void free_completed(const Action& action, const MakeTag& unknown);
  void refused(const Action& action, Tag tag, std::uint64_t free_bytes);
  void segment_came(const Action& action);
  void segment_went(const Action& action);
  // Must be called after the actions: memory that is not in the snapshot's segments was freed
  // unseen.
  void finish(std::uint64_t time_ns);

  // Returns the tag of a block of the snapshot from the history, or a new one.
  [[nodiscard]] Tag live_block(const Action& block, const MakeTag& unknown);
  // Stores all events in order, first those of memory from before the history. Must be called once,
  // at the end.
  void put_events();

  // Return the number and bytes of allocations from before the history.
  [[nodiscard]] std::uint64_t earlier_count() const { return earlier_.size(); }
  [[nodiscard]] std::uint64_t earlier_bytes() const { return earlier_bytes_; }
  // Returns "5 frees and 3 allocations", or "".
  [[nodiscard]] std::string left_out() const;

 private:
  struct Live {
    Place place = {};
    Tag tag = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> requested_ns = {};  // when its free was requested
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
  LiveBlocks live_;  // no two of them overlap
  Ranges seen_;      // addresses at which the history has had blocks
  std::unordered_map<Address, AtEnd> at_end_;
  std::map<std::uint16_t, Reserved> reserved_;  // by device
  std::map<Kind, Actions> actions_;
  std::vector<ImportedEvent> earlier_;
  std::uint64_t earlier_bytes_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t frees_ = 0, allocations_ = 0, segment_frees_ = 0,
                segment_allocations_ = 0;  // unseen actions
};

}  // namespace vramscope
