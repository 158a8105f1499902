// Recovers segments, blocks and all counters from the live memory of a dead process.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/recovery.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "allocator/books/moving_books.h"
#include "allocator/books/recount.h"
#include "allocator/listing.h"
#include "allocator/live_books.h"

namespace vramscope {
namespace {

// Returns the records of a part that are in the file.
template <class T>
Records<T> records_of(const LiveHeader& header, LivePart part) {
  const auto i = static_cast<std::size_t>(part);
  return {reinterpret_cast<const T*>(header.base + i * kLivePartBytes),
          header.bytes[i].load(std::memory_order_acquire) / sizeof(T)};
}

// Checks all parts except those that others write.
void require_whole(const LiveHeader& header) {
  for (std::size_t part = 0; part < kLiveParts; ++part) {
    const std::uint64_t bytes = header.bytes[part].load(std::memory_order_acquire);
    const bool is_ours = static_cast<LivePart>(part) != LivePart::names;
    if (!is_ours || header.extent[part].load(std::memory_order_acquire) <= bytes) continue;
    const auto problem = static_cast<int>(header.problem.load(std::memory_order_relaxed));
    throw std::runtime_error("it is incomplete: " + std::generic_category().message(problem));
  }
}

const LiveBooks& books_of(const LiveHeader& header) {
  const auto* books =
      static_cast<const LiveBooks*>(header.allocator.load(std::memory_order_acquire));
  if (books == nullptr) throw std::runtime_error("the process ended before its first allocation");
  if (books->layout != LiveBooks::kLayout) {
    throw std::runtime_error("it was written by another version of Vramscope");
  }
  return *books;
}

}  // namespace

Snapshot recover_memory(const LiveHeader& header) {
  const Accounts& accounts = *books_of(header).accounts;
  require_whole(header);
  Snapshot out;
  const Chains pools{records_of<Block>(header, LivePart::blocks),
                     records_of<BlockLife>(header, LivePart::block_lives)};
  const Chains pinned{records_of<Block>(header, LivePart::pinned_blocks),
                      records_of<BlockLife>(header, LivePart::pinned_block_lives)};
  list({records_of<ListedSegment>(header, LivePart::listed_segments), pools, pinned},
       accounts.birth_times(), out);
  const auto recount = std::make_unique<BooksRecount>();
  recount->add(out);
  accounts.describe(out);
  accounts.ledger().describe(out);
  accounts.mend(out, *recount);
  return out;
}

namespace {

// The records from which it follows which blocks are live.
struct BlockRecords {
  std::vector<Block> blocks, pinned;
  std::vector<BlockLife> lives, pinned_lives;
  std::vector<ListedSegment> segments;
};

template <class T>
void copy(std::vector<T>& to, const LiveHeader& header, LivePart part, const ReadNow& now) {
  const Records<T> records = records_of<T>(header, part);
  to.resize(records.count);
  if (to.empty()) return;
  if (now(to.data(), reinterpret_cast<std::uintptr_t>(records.first), to.size() * sizeof(T))) {
    return;
  }
  throw std::runtime_error("its records of blocks cannot be read");
}

BlockRecords read_blocks(const LiveHeader& header, const ReadNow& now) {
  BlockRecords records;
  copy(records.blocks, header, LivePart::blocks, now);
  copy(records.lives, header, LivePart::block_lives, now);
  copy(records.pinned, header, LivePart::pinned_blocks, now);
  copy(records.pinned_lives, header, LivePart::pinned_block_lives, now);
  copy(records.segments, header, LivePart::listed_segments, now);
  return records;
}

void add(LedgerRecount& live, Tag tag, std::uint64_t requested, BlockState state) {
  if (live.tags.size() <= tag) live.tags.resize(std::size_t{tag} + 1);
  LedgerRecount::OfTag& of_tag = live.tags[tag];
  of_tag.live.bytes += requested;
  ++of_tag.live.count;
  of_tag.pending += state == BlockState::active_pending_free;
}

bool is_held(const Block& b) { return b.address() != 0 && !b.is_free() && !b.is_aside(); }

bool is_same_life(const Block& a, const BlockLife& life, const Block& b, const BlockLife& again) {
  return a.where == b.where && a.requested == b.requested && a.tag == b.tag &&
         life.number == again.number;
}

void add_same(LedgerRecount& live, const std::vector<Block>& blocks,
              const std::vector<BlockLife>& lives, const std::vector<Block>& later,
              const std::vector<BlockLife>& later_lives) {
  const std::size_t count = std::min(blocks.size(), lives.size());
  for (std::size_t i = 1; i < count; ++i) {
    const Block& b = blocks[i];
    if (is_held(b) && is_same_life(b, lives[i], later[i], later_lives[i])) {
      add(live, b.tag, b.requested, b.state());
    }
  }
}

bool is_same_life(const ListedSegment& a, const ListedSegment& b) {
  return a.place == b.place && a.address == b.address && a.requested == b.requested &&
         a.serial == b.serial && a.tag == b.tag && a.what == b.what;
}

void add_same(LedgerRecount& live, const std::vector<ListedSegment>& segments,
              const std::vector<ListedSegment>& later) {
  using Sort = ListedSegment::Sort;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    const ListedSegment& one = segments[i];
    const bool is_direct = one.sort() == Sort::direct;
    const bool is_block = is_direct || one.sort() == Sort::alone;
    const BlockState state = is_direct ? BlockState::active_allocated : one.state();
    if (!is_block || !one.is_visible() || state == BlockState::inactive) continue;
    if (is_same_life(one, later[i])) add(live, one.tag, one.requested, state);
  }
}

}  // namespace

MovingMemory::MovingMemory(const LiveHeader& image, const ReadNow& now) {
  require_whole(image);
  const BlockRecords before = read_blocks(image, now);
  read_counters(image, now);
  const BlockRecords after = read_blocks(image, now);
  add_same(live_, before.blocks, before.lives, after.blocks, after.lives);
  add_same(live_, before.pinned, before.pinned_lives, after.pinned, after.pinned_lives);
  add_same(live_, before.segments, after.segments);
}

// Counters that agree, too, are those of an instant between two calls: a thread may stand still
// within a call. If it stands there for long, they are taken as they are.
void MovingMemory::read_counters(const LiveHeader& image, const ReadNow& now) {
  constexpr auto kPatience = std::chrono::milliseconds(20);
  constexpr auto kLimit = std::chrono::milliseconds(500);
  const Accounts& accounts = *books_of(image).accounts;
  Accounts::Moving(accounts).each_counter([this](const void* at, std::size_t bytes) {
    counters_.push_back({reinterpret_cast<std::uintptr_t>(at), std::vector<std::byte>(bytes)});
  });
  std::vector<Counter> again = counters_;
  const auto read_into = [&now](std::vector<Counter>& counters) {
    // Each value comes by a system call, so only the compiler could change their order.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return std::all_of(counters.begin(), counters.end(), [&now](Counter& one) {
      return now(one.value.data(), one.address, one.value.size());
    });
  };
  const auto is_same = [&] {
    return std::equal(counters_.begin(), counters_.end(), again.begin(),
                      [](const Counter& a, const Counter& b) { return a.value == b.value; });
  };
  const auto begun = std::chrono::steady_clock::now();
  for (auto passed = begun - begun; passed < kLimit;
       passed = std::chrono::steady_clock::now() - begun) {
    if (!read_into(counters_) || !read_into(again)) break;
    if (!is_same()) continue;
    put_counters();
    if (Accounts::Moving(accounts).agree() || passed > kPatience) return;
  }
  throw std::runtime_error("its counters change too fast to be read");
}

void MovingMemory::put_counters() const {
  for (const Counter& one : counters_) {
    std::memcpy(reinterpret_cast<void*>(one.address), one.value.data(), one.value.size());
  }
}

Snapshot MovingMemory::snapshot(const LiveHeader& image) const {
  put_counters();
  const Accounts& accounts = *books_of(image).accounts;
  Snapshot out;
  accounts.describe(out);
  accounts.ledger().describe(out);
  Ledger::Moving(accounts.ledger()).set_live_of_tags(out, live_);
  out.allocations = accounts.birth_times().newest();
  return out;
}

}  // namespace vramscope
