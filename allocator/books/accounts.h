// The accounts are everything that an allocator counts: the counters of each device and of the
// host, who holds what, when each allocation was made, and what all memory on a device adds up to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocator/books/birth_times.h"
#include "allocator/books/capacities.h"
#include "allocator/books/device_counters.h"
#include "allocator/books/ledger.h"
#include "allocator/books/ledger_copy.h"
#include "allocator/books/recount.h"
#include "allocator/ground/place.h"
#include "allocator/ground/size_policy.h"
#include "allocator/ground/snapshot.h"
#include "allocator/ground/statistics.h"

namespace vramscope {

// Where the blocks of one place are counted: for Accounts itself; others only pass it on. It stays
// while places come and go.
class PlaceAccounts {
 private:
  friend class Accounts;
  PlaceAccounts(DeviceCounters& of_device, Ledger::Account& of_kind)
      : device(of_device), ledger(of_kind) {}

  DeviceCounters& device;
  Ledger::Account& ledger;
};

// A block as it is counted.
struct CountedBlock {
  Tag tag = 0;
  PoolClass pool = PoolClass::large;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
};

// Whoever moves memory says here what happened to it; nobody else changes a counter, decides what
// that changes, or what is oversize. Threads: one at a time.
class Accounts {
 public:
  // Bytes from which on a segment or a block counts as oversize.
  explicit Accounts(std::uint64_t oversize_from, LiveMemory* live = nullptr,
                    std::uint64_t start_ns = 0)
      : oversize_from_(oversize_from),
        max_split_size_at_start_(static_cast<std::int64_t>(oversize_from)),
        live_(live),
        ledger_(live, start_ns),
        birth_times_(live) {}
  void set_oversize_from(std::uint64_t bytes) { oversize_from_ = bytes; }

  // The statistics of a device begin. False: out of memory.
  [[nodiscard]] bool open_device(std::uint16_t device) noexcept;
  // Of device memory, after open_device().
  [[nodiscard]] PlaceAccounts of_place(Place where) {
    return {*devices_[where.device], ledger_.account_of(where)};
  }

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] TagRecords tags() { return TagRecords(ledger_); }
  [[nodiscard]] const Capacities& capacities() const { return capacities_; }
  [[nodiscard]] Capacities& capacities() { return capacities_; }

  // A block came to the program, by the allocation numbered `serial`. What takes PlaceAccounts
  // leaves TagRecords::keep() to its callers.
  void came(const PlaceAccounts& at, const CountedBlock& block, SplitChange split,
            std::uint64_t serial);
  void came(Place where, const CountedBlock& block, std::uint64_t serial);
  // It gave it up: the end of the life that the allocation numbered `serial` began. kNoLife: it
  // never saw the block, or the block vanished with its context; that life is not measured.
  static constexpr std::uint64_t kNoLife = 0;
  void given_up(Place where, const CountedBlock& block, std::uint64_t serial);
  // And nothing uses it any more.
  void reusable(Place where, const CountedBlock& block);
  // A pool's block that is reusable has merged.
  void merged_later(const PlaceAccounts& at, PoolClass pool, SplitChange split) {
    at.device.count_split(pool, split);
  }
  // Both at once.
  void freed(Place where, const CountedBlock& block, std::uint64_t serial);
  // The same of a pool's block in three steps, of which the last is measured to cost nothing here:
  // its split blocks are known only when it has merged, and its life is measured after that.
  void freed(const PlaceAccounts& at, const CountedBlock& block);
  void merged(const PlaceAccounts& at, PoolClass pool, SplitChange split) {
    at.device.count_merge(pool, split);
  }
  void ended(const PlaceAccounts& at, Tag tag, std::uint64_t requested, std::uint64_t serial) {
    if (ledger_.keeps_details()) [[unlikely]]
      detail_freed(at.ledger, tag, requested, serial);
  }

  // After came() and freed(): the program never saw the block.
  void unseen(Place where, const CountedBlock& block) {
    ledger_.keep(block.tag);
    ledger_.count_unseen(ledger_.account_of(where), block.tag, block.requested);
  }

  // A segment of ours came from the backend, or is in our books no longer; it came back to them
  // because the backend kept it; the backend took it.
  void segment_came(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_went(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_kept(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_given_back(Place where);
  // Pages of a reservation are backed now (Stat::increase), or no longer (decrease); who took them
  // back is counted apart (segment_given_back).
  void change_pages(Place where, PoolClass pool, std::uint64_t bytes, Stat::Change how);
  // What became of a request, or of a call for idle memory, in the statistics.
  enum class Event : std::uint8_t { out_of_memory, retry, rejection, sync_of_all };
  void note(Event what, std::uint16_t device);

  // Memory that the program got from the driver itself came, or went: kNoLife with its context.
  void direct_came(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial);
  void direct_went(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial);
  void note_host_use() { host_used_ = true; }

  // Everything, or what is known of one device's memory of Kind::device, or of the host's.
  void reset_peaks(std::optional<std::uint16_t> device = {});
  void reset_accumulated(std::optional<std::uint16_t> device = {});
  void reset_host_accumulated() {
    was_reset_ = true;
    host_.reset_accumulated();
  }

  // False, and nothing set, before the first use.
  [[nodiscard]] bool read(std::uint16_t device, DeviceStatistics& out) const;
  [[nodiscard]] bool read(HostStatistics& out) const;
  // All but segments, blocks and what the ledger knows. May throw bad_alloc, unless there is room
  // in `out` for kMaxDevices.
  void describe(Snapshot& out) const;
  // Of a process that died amid a call, all that was described: to agree with what is recounted.
  void mend(Snapshot& out, const BooksRecount& recount) const;
  // When numbered allocations were made.
  [[nodiscard]] const BirthTimes& birth_times() const { return birth_times_; }

 private:
  void change_segments(DeviceCounters& device, PoolClass pool, std::uint64_t bytes,
                       Stat::Change how) const;
  // Only when details are kept. Numbers are passed, so that no block is laid out in memory for it.
  [[gnu::noinline]] void detail_came(Ledger::Account& account, Tag tag, std::uint64_t requested,
                                     std::uint64_t serial);
  [[gnu::noinline]] void detail_freed(Ledger::Account& account, Tag tag, std::uint64_t requested,
                                      std::uint64_t serial);
  void end_life(Tag tag, std::uint64_t serial);

  std::uint64_t oversize_from_;
  const std::int64_t max_split_size_at_start_;  // what the statistics name; unlimited is -1
  LiveMemory* const live_;
  Ledger ledger_;
  BirthTimes birth_times_;
  std::array<LivePointer<DeviceCounters>, kMaxDevices> devices_;
  Capacities capacities_;
  HostStatistics host_;
  bool host_used_ = false;
  bool was_reset_ = false;  // some sums do not begin with the process
};

}  // namespace vramscope
