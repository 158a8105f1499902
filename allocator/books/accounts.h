// The accounts are everything that an allocator counts: the counters of each device and of the
// host, what each tag holds, when each allocation was made, and the sum of all memory on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "allocator/base/place.h"
#include "allocator/base/size_policy.h"
#include "allocator/base/snapshot.h"
#include "allocator/base/statistics.h"
#include "allocator/books/birth_times.h"
#include "allocator/books/capacities.h"
#include "allocator/books/device_counters.h"
#include "allocator/books/device_watches.h"
#include "allocator/books/ledger.h"
#include "allocator/books/ledger_copy.h"
#include "allocator/books/recount.h"

namespace vramscope {

// The accounts in which the blocks of one place are counted. Only Accounts uses it; others pass it
// on. It stays valid while places are added and removed.
class PlaceAccounts {
 private:
  friend class Accounts;
  PlaceAccounts(Place place, DeviceCounters& of_device, Ledger::Account& of_kind)
      : where(place), device(of_device), ledger(of_kind) {}

  Place where;
  DeviceCounters& device;
  Ledger::Account& ledger;
};

// The figures of a block that are counted.
struct CountedBlock {
  Tag tag = 0;
  PoolClass pool = PoolClass::large;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
};

// Code that moves memory reports here what happened to it. Only Accounts changes counters, decides
// which ones change, and which blocks are oversize. Threads: one at a time.
class Accounts {
 public:
  // oversize_from: the size in bytes from which a segment or block counts as oversize.
  explicit Accounts(std::uint64_t oversize_from, LiveMemory* live = nullptr,
                    std::uint64_t start_ns = 0)
      : oversize_from_(oversize_from),
        max_split_size_at_start_(static_cast<std::int64_t>(oversize_from)),
        live_(live),
        ledger_(live, start_ns),
        birth_times_(live) {}
  void set_oversize_from(std::uint64_t bytes) { oversize_from_ = bytes; }

  // Begins the statistics of a device. Returns false if memory is exhausted.
  [[nodiscard]] bool open_device(std::uint16_t device) noexcept;
  // Returns the accounts of a place of device memory, after open_device().
  [[nodiscard]] PlaceAccounts of_place(Place where) {
    return {where, *devices_[where.device], ledger_.account_of(where)};
  }

  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] TagRecords tags() { return TagRecords(ledger_); }
  [[nodiscard]] const Capacities& capacities() const { return capacities_; }
  [[nodiscard]] Capacities& capacities() { return capacities_; }

  // Counts a block that the program got by the allocation numbered `serial`. Callers of functions
  // that take PlaceAccounts call TagRecords::keep() themselves.
  void came(const PlaceAccounts& at, const CountedBlock& block, SplitChange split,
            std::uint64_t serial);
  void came(Place where, const CountedBlock& block, std::uint64_t serial);
  // Counts a block that the program freed: the end of the life that began with the allocation
  // numbered `serial`. kNoLife: the program never saw the block, or the block vanished with its
  // context, so its lifetime is not measured.
  static constexpr std::uint64_t kNoLife = 0;
  static constexpr std::uint64_t kNewestLife = ~std::uint64_t{0};
  void given_up(Place where, const CountedBlock& block, std::uint64_t serial);
  // Counts that nothing uses a freed block any more.
  void reusable(Place where, const CountedBlock& block);
  // Counts that a reusable block of a pool has merged.
  void merged_later(const PlaceAccounts& at, PoolClass pool, SplitChange split) {
    at.device.count_split(pool, split);
  }
  // given_up() and reusable() in one step.
  void freed(Place where, const CountedBlock& block, std::uint64_t serial);
  // The same for a pool's block in three steps. The change of split blocks is known only after the
  // merge, and the lifetime is measured after that, where it costs no time.
  void freed(const PlaceAccounts& at, const CountedBlock& block);
  void merged(const PlaceAccounts& at, PoolClass pool, SplitChange split) {
    at.device.count_merge(pool, split);
  }
  void ended(const PlaceAccounts& at, Tag tag, std::uint64_t requested, std::uint64_t serial) {
    if (ledger_.is_followed()) [[unlikely]]
      detail_freed(at, tag, requested, serial);
  }

  // Undoes came() and freed() for a block that the program never saw.
  void unseen(Place where, const CountedBlock& block) {
    ledger_.keep(block.tag);
    ledger_.count_unseen(ledger_.account_of(where), block.tag, block.requested);
    watches_.given_up(where, block.requested, kNewestLife);
  }

  // Four events of a segment: the backend gave it; it left our books; it returned to them because
  // the backend kept it; the backend took it back.
  void segment_came(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_went(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_kept(Place where, PoolClass pool, std::uint64_t bytes);
  void segment_given_back(Place where);
  // Counts pages of a reservation that are backed now (Stat::increase) or no longer (decrease). A
  // release by the backend is counted separately (segment_given_back).
  void change_pages(Place where, PoolClass pool, std::uint64_t bytes, Stat::Change how);
  // Counts the result of a request, or of a call for idle memory.
  enum class Event : std::uint8_t { out_of_memory, retry, rejection, sync_of_all };
  void note(Event what, std::uint16_t device);

  // Counts memory that the program got from the driver, or gave back. kNoLife: it went with its
  // context.
  void direct_came(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial);
  void direct_went(Place where, Tag tag, std::uint64_t bytes, std::uint64_t serial);
  void note_host_use() { host_used_ = true; }

  // Resets all counters, or those of one device's memory of Kind::device, or those of the host.
  void reset_peaks(std::optional<std::uint16_t> device = {});
  void reset_accumulated(std::optional<std::uint16_t> device = {});
  void reset_host_accumulated() {
    was_reset_ = true;
    host_.reset_accumulated();
  }

  // Returns false without setting `out` before the first use.
  [[nodiscard]] bool read(std::uint16_t device, DeviceStatistics& out) const;
  [[nodiscard]] bool read(HostStatistics& out) const;
  // Fills in everything except segments, blocks and the ledger's figures. May throw bad_alloc,
  // unless `out` has capacity for kMaxDevices.
  void describe(Snapshot& out) const;
  // Makes the described figures of a process that died inside a call agree with the recount.
  void mend(Snapshot& out, const BooksRecount& recount) const;
  // Returns the times of allocations by number.
  [[nodiscard]] const BirthTimes& birth_times() const { return birth_times_; }

  class Moving;    // moving_books.h
  class Watching;  // watching.h

 private:
  void change_segments(DeviceCounters& device, PoolClass pool, std::uint64_t bytes,
                       Stat::Change how) const;
  // Called only if the ledger is followed. Takes numbers, so that no block must be stored in memory
  // for the call.
  [[gnu::noinline]] void detail_came(Place where, Tag tag, std::uint64_t requested,
                                     std::uint64_t serial);
  [[gnu::noinline]] void detail_freed(const PlaceAccounts& at, Tag tag, std::uint64_t requested,
                                      std::uint64_t serial);
  void end_life(Place where, Tag tag, std::uint64_t requested, std::uint64_t serial);

  std::uint64_t oversize_from_;
  const std::int64_t max_split_size_at_start_;  // in the statistics; unlimited is -1
  LiveMemory* const live_;
  Ledger ledger_;
  BirthTimes birth_times_;
  DeviceWatches watches_;
  std::array<LivePointer<DeviceCounters>, kMaxDevices> devices_;
  Capacities capacities_;
  HostStatistics host_;
  bool host_used_ = false;
  bool was_reset_ = false;  // some sums do not cover the whole process
};

}  // namespace vramscope
