// The caching allocator: policy, the out-of-memory ladder and the one lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "allocator/backend.h"
#include "allocator/limits.h"
#include "allocator/snapshot.h"

namespace vramscope {

struct Request {
  Place where{};
  std::size_t bytes = 0;
  Tag tag = 0;
  // Device memory: a segment of exactly `bytes`, with no other block in it ever, so that others can
  // be given the segment. Reused whole, for whole requests of the same bytes.
  bool whole = false;
};

// Where the memory of an allocation came from.
enum class Source : std::uint8_t {
  none,         // nothing was allocated
  hit,          // a free block of ours: no driver call
  new_segment,  // one driver call
  after_trim,   // a driver call that succeeded only after cached segments went back
  direct,       // the program's own driver call, adopted
};

// What a call decided; the caller records it. Nothing is called back from inside the lock.
struct Outcome {
  Status status;
  Address address = 0;
  std::size_t rounded = 0;    // size of the block
  std::size_t requested = 0;  // size that was asked for
  Tag tag = 0;                // of the allocation; a free tells whose block it was
  Place where{};
  Source source = Source::none;
  std::uint64_t backend_ns = 0;  // in reserve and release
  std::uint64_t wait_ns = 0;     // in wait: what a free costs by its synchronisation
};

// What is known about one address.
struct Found {
  bool owned = false;  // inside one of our segments, live or free
  bool live = false;   // inside a block that the program holds
  bool direct = false;
  bool whole = false;     // its block is the whole segment
  bool exported = false;  // see CachingAllocator::note_export
  Place where{};
  Address segment = 0;
  std::uint64_t segment_bytes = 0;
  BlockSnapshot block;
  std::uint64_t serial = 0;  // number of the allocation: differs for each life of a block
};

// Threads: any. Nothing here throws; when our own memory is exhausted a call answers
// Result::failed with code 0 and the caller goes to the driver directly.
class CachingAllocator {
 public:
  CachingAllocator(Backend& backend, Limits limits);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Makes a device place known before its first use: its statistics begin and trims count. Calls
  // that need a place open it themselves.
  void open(Place where) noexcept;

  // bytes > 0. Out of memory: cached segments go back, once more, then the backend's own refusal;
  // code 0 when a limit of ours refused and the backend was not asked. 2^60 bytes and more are
  // refused uncounted. Kinds other than Kind::device and Kind::pinned: Result::failed. Pinned
  // memory comes in powers of two, from the place with exactly the same context and flags.
  [[nodiscard]] Outcome allocate(const Request& request) noexcept;

  // `address` must be the exact start of a live block, else Result::invalid and nothing changes.
  // Waits for the device first (effect of the real call) unless a capture forbids it: then the
  // block stays pending and is completed by a later call. A failed wait (sticky error) frees
  // nothing and returns the backend's code.
  [[nodiscard]] Outcome free(Address address) noexcept;

  // Memory that the program got directly: a segment with one block of exactly `bytes` > 0. What
  // was adopted there before is forgotten first: the driver hands out no address twice, so the
  // program freed it behind our back.
  Outcome adopt(Place where, Address address, std::size_t bytes, Tag tag) noexcept;
  // The end of adopted memory: exact start, else Result::invalid.
  Outcome forget(Address address) noexcept;

  // Inside one of our own segments, live or free (adopted memory is not ours: false).
  // False: forward to the real function.
  [[nodiscard]] bool owns(Address address) const noexcept;
  [[nodiscard]] Found find(Address address) const noexcept;

  // The program is about to let others reach the memory around `address`: another process, another
  // device, the hardware. From now on its segment goes back to the backend when its block is freed,
  // instead of being kept for reuse. Only for live blocks that are whole segments; else nothing
  // changes, nor when our own memory is exhausted. What is found tells (`exported`).
  [[nodiscard]] Found note_export(Address address) noexcept;

  // empty_cache: gives every segment without a live block back to the backend.
  void trim() noexcept;
  // The same for pinned host memory, which trim() leaves alone: pinning again is slow.
  void trim_pinned() noexcept;
  // A place that no longer exists (context reset or destroyed): drops its segments, blocks and
  // adopted memory without a backend call.
  void forget_place(Place where) noexcept;

  void reset_peaks() noexcept;
  void reset_accumulated() noexcept;
  void set_limits(Limits limits) noexcept;
  // Bytes of segments on `device` that trim() would give back.
  [[nodiscard]] std::uint64_t idle_bytes(std::uint16_t device) const noexcept;

  // For tests: empty when blocks tile their segments, no two neighbours are free and every counter
  // equals a recount; else what is wrong. Costs a walk over everything; may throw bad_alloc.
  [[nodiscard]] std::string check_invariants() const;

  // Statistics and blocks under one lock: totals always agree. May throw bad_alloc (lock released).
  [[nodiscard]] Snapshot snapshot() const;

  // fork(): before = take the lock; parent = release it; child = release it and forget everything
  // (a child owns no segment and makes no backend call).
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vramscope
