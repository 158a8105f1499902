// Recovers segments, blocks and all counters from the live memory of a dead process.
// SPDX-License-Identifier: Apache-2.0
#include "allocator/recovery.h"

#include <memory>
#include <stdexcept>
#include <system_error>

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

}  // namespace vramscope
