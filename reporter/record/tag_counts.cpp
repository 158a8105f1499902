// Makes the chunks of counts, each with the first tag that needs it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/tag_counts.h"

#include "reporter/record/kept.h"

namespace vramscope {

TagCounts::~TagCounts() {
  for (auto& chunk : chunks_) drop_kept(live_, chunk.load(std::memory_order_relaxed));
}

void TagCounts::prepare(Tag tag) {
  if (tag / kChunk >= kChunks) return;
  std::atomic<Chunk*>& place = chunks_[tag / kChunk];
  if (place.load(std::memory_order_acquire) != nullptr) return;
  const SystemLock guard(growing_);
  if (place.load(std::memory_order_relaxed) != nullptr) return;
  Chunk* const chunk = make_kept<Chunk>(live_);
  shown_[tag / kChunk].store(chunk, std::memory_order_release);
  place.store(chunk, std::memory_order_release);
}

}  // namespace vramscope
