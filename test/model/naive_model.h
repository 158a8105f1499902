// The judge of the allocator: PyTorch 2.6's policy on one stream and the native-safe one, as
// naively as possible.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "allocator/base/backend.h"
#include "allocator/base/limits.h"
#include "allocator/base/snapshot.h"
#include "allocator/caching_allocator.h"

namespace vramscope {

// One quantity of memory_stats, counted by the four rules of its documentation.
struct ModelStat {
  std::int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(std::int64_t amount);  // negative: a decrease
};

// Index 0 counts everything, 1 the small pool, 2 the large pool.
using ModelPooled = std::array<ModelStat, 3>;

struct ModelBlock {
  Address address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;  // a free block keeps that of its last life
  Tag tag = 0;
  BlockState state = BlockState::inactive;
  std::uint64_t freed_at = 0;  // searches of its pool when it became free
  std::uint64_t number = 0;    // of its last free; 0: proved finished by that free itself

  [[nodiscard]] bool is_free() const { return state == BlockState::inactive; }
};

struct ModelSegment {
  Place place;
  Address address = 0;
  std::uint64_t size = 0;
  bool is_small = false;
  bool is_direct = false;
  std::vector<ModelBlock> blocks;  // by address, without gaps
  bool is_whole = false;           // dedicated: for one block of exactly its size
  bool is_exported = false;        // goes back as soon as it is free

  // Ours, and without a live block.
  [[nodiscard]] bool is_idle() const {
    return !is_direct && blocks.size() == 1 && blocks[0].is_free();
  }
};

// Statistics of one device, by the names of memory_stats.
struct ModelDevice {
  std::map<std::string, ModelPooled> pooled;
  std::map<std::string, ModelStat> oversize;
  std::map<std::string, std::int64_t> counts;

  ModelDevice();
  void add(const std::string& name, bool is_small, std::int64_t amount);
  void add_block(const ModelBlock& block, bool is_small, int sign);
};

// Written from the rules of PyTorch's allocator, and of Policy::native_safe, only, sharing no code
// with ours: linear search, vectors and maps. test/golden proves it, then it judges. Wherever
// CachingAllocator has a function of the same name, it means the same. Threads: one.
class NaiveModel {
 public:
  NaiveModel(Backend& backend, Limits limits) : backend_(backend), limits_at_start_(limits) {
    set_limits(limits);
    limits_at_start_ = limits_;
  }

  Outcome allocate(const Request& request);
  Outcome free(Address address);
  bool note_export(Address address);  // whether it may be
  Outcome adopt(Place where, Address address, std::uint64_t bytes, Tag tag);
  Outcome forget(Address address);
  [[nodiscard]] bool owns(Address address) const;
  void trim();
  void trim_pinned(Place where);
  void forget_place(Place where);
  void reset_peaks();
  void reset_accumulated();
  void set_limits(Limits limits);
  void note_unrecorded(std::uint16_t device, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t idle_bytes(std::uint16_t device) const;

  // Every key of memory_stats; all zero before the first use of the device.
  [[nodiscard]] std::map<std::string, std::int64_t> device_keys(std::uint16_t device) const;
  [[nodiscard]] std::map<std::string, std::int64_t> host_keys() const;
  [[nodiscard]] std::vector<ModelSegment> segments() const;  // by (kind, device, address)
  [[nodiscard]] std::map<Tag, TagTotals> tags() const;
  [[nodiscard]] std::vector<KindTotals> kinds() const;
  // Of devices that had several kinds of memory, by ordinal.
  [[nodiscard]] std::map<std::uint16_t, std::uint64_t> joint_peaks() const;

 private:
  using Account = std::pair<Kind, std::uint16_t>;  // what peaks and kind totals are kept by
  struct Spot {
    std::size_t segment = 0, block = 0;
    bool found = false;
  };

  using PoolKey = std::tuple<Kind, std::uint16_t, std::uint32_t, bool>;

  void open(Place where);
  [[nodiscard]] std::uint64_t rounded_size(std::uint64_t bytes) const;
  [[nodiscard]] bool may_serve(std::uint64_t block, std::uint64_t size) const;
  [[nodiscard]] bool collects_garbage() const;
  [[nodiscard]] std::uint64_t& searches(const ModelSegment& segment);
  void count_oversize(const char* name, Place where, std::uint64_t size, int sign);
  Spot best_fit(Place where, bool is_small, std::uint64_t size) const;
  Spot start_of_live_block(Address address) const;
  Spot block_at(Address address, BlockState state) const;
  Status add_segment(Place where, bool is_small, std::uint64_t bytes);
  Status climb(Place where, std::uint64_t rounded, Outcome& outcome);
  void hand_out(Spot spot, std::uint64_t rounded, const Request& request);
  void begin_free(Spot spot);
  std::size_t complete_free(Spot spot);
  std::size_t put_back(Spot spot, std::uint64_t number);
  bool release_oversize(Place where, bool is_small, std::uint64_t size);
  void collect_garbage(Place where);
  [[nodiscard]] bool is_native() const { return limits_at_start_.policy == Policy::native_safe; }
  [[nodiscard]] std::uint64_t part_of_place(Place where, std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t unused_bytes(Place where) const;
  [[nodiscard]] std::uint64_t idle_in_pools(Place where) const;
  bool give_way(Place where);
  void shed(Place where);
  void release_oldest(Place where, std::uint64_t bytes);
  bool release_segment(Address address, Status& status);
  std::uint64_t release_each(const std::vector<Address>& segments);
  template <class Wanted>
  std::vector<Address> idle_segments(Place where, Wanted wanted) const;
  std::vector<Address> idle_segments(Place where) const;
  bool complete_pending(Place where, bool is_whole);
  void finish_pending(Place where, bool is_whole);
  bool full_release(std::uint16_t device);
  void release_idle(Place where, bool is_whole);
  [[nodiscard]] std::uint64_t own_bytes(std::uint16_t device) const;
  [[nodiscard]] std::uint64_t share(Place where, double fraction) const;
  [[nodiscard]] const ModelSegment* direct_of(Place where) const;
  void count_segment(const ModelSegment& segment, int sign);
  void count_host(const std::vector<const char*>& names, const ModelBlock& block, int sign);
  Outcome allocate_whole(const Request& request);
  Spot first_freed_whole(Place where, std::uint64_t bytes) const;
  Status add_whole(const Request& request, Outcome& outcome);
  [[nodiscard]] bool is_over_limit(Place where, std::uint64_t bytes) const;
  Outcome allocate_pinned(const Request& request);
  Spot last_freed(Place where, std::uint64_t bytes) const;
  void hand_out_pinned(Spot spot, const Request& request);
  // Policy::native_safe: see naive_pinned_parts.cpp.
  Outcome allocate_part(const Request& request);
  [[nodiscard]] bool may_cut_pinned(Place where) const;
  Spot pinned_fit(Place where, std::uint64_t rounded) const;
  void hand_out_part(Spot spot, std::uint64_t rounded, const Request& request);
  Status pin_segment(Place where, std::uint64_t rounded, Outcome& outcome);
  Status add_pinned_segment(Place where, bool is_small, std::uint64_t bytes);
  void make_room_for_pinned(std::uint64_t rounded, std::uint64_t bytes);
  std::size_t merge_pinned(Spot spot);
  void settle_part(Address address);
  template <class Wanted>
  [[nodiscard]] std::uint64_t pinned_bytes(Wanted wanted) const;
  enum class Proof { given, refused, not_now };
  Proof prove(Place where, Address address, Status& status);
  [[nodiscard]] bool waits_at_reuse() const {
    return limits_at_start_.reuse == ReuseTime::at_reuse;
  }
  [[nodiscard]] std::uint64_t& finished(Place where);
  Status pin(const Request& request, std::uint64_t bytes, Outcome& outcome);
  Status add_pinned(Place where, std::uint64_t bytes);
  void release_pinned(Place where);
  Status settle(Address address);
  void count_request(Place where, const ModelBlock& block, int sign);
  void note_joint_peak(Place where);
  [[nodiscard]] static bool is_of_device(const Account& account, std::uint16_t device);
  void forget_request(Place where, const ModelBlock& block);

  Backend& backend_;
  Limits limits_;
  Limits limits_at_start_;
  std::map<PoolKey, std::uint64_t> searches_;
  std::map<std::uint16_t, std::uint64_t> unrecorded_, least_unrecorded_;  // by device
  std::set<std::uint16_t> wanted_;  // devices on which somebody else needs memory
  std::vector<ModelSegment> segments_;
  std::vector<Address> freed_pinned_;  // pinned blocks without a user, the last freed last
  std::vector<Address> freed_whole_;   // dedicated ones, likewise
  std::vector<std::optional<Place>> open_pinned_;  // as open_, of pinned memory that is cut
  std::uint64_t pinned_misses_ = 0;                // requests that had to ask for a segment
  std::uint64_t most_pinned_ = 0;                  // bytes of blocks that were not free, at once
  std::uint64_t frees_ = 0;                        // numbers of frees
  // The newest free, by whether it is pinned, device, context.
  std::map<std::tuple<bool, std::uint16_t, std::uint32_t>, std::uint64_t> finished_;
  std::uint64_t hits_ = 0;                  // since the device was asked for anything
  std::vector<Address> pending_;            // frees that a capture put off, oldest first
  std::vector<std::optional<Place>> open_;  // places that were asked for; an ended one's is reused
  std::map<std::uint16_t, ModelDevice> devices_;
  std::map<std::string, ModelStat> host_;
  std::int64_t num_host_alloc_ = 0, num_host_free_ = 0;
  std::map<Account, KindTotals> kinds_;
  std::map<std::uint16_t, std::uint64_t> joint_peaks_;  // of all devices
  std::map<Tag, Account> account_of_;
  std::map<Tag, TagTotals> tags_;
};

}  // namespace vramscope
