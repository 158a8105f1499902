// ExportSlot is the shared state of one allocation's exporter and importers, in a file that all of
// them can map.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vramscope::simulator {

// One word says whether the allocation lives and how many processes have it open. An importer that
// is killed stays counted, so the bytes stay until the exporter ends. In addition each importer
// holds a lock in the file, which ends with it. Threads: any.
class ExportSlot {
 public:
  // Maps the word of allocation `id` in the file of a device's memory.
  ExportSlot(int file, std::uint64_t id);
  ExportSlot(const ExportSlot&) = delete;
  ExportSlot& operator=(const ExportSlot&) = delete;
  ~ExportSlot();

  [[nodiscard]] bool ok() const { return word_ != nullptr; }

  // The exporter's calls. `end` returns whether no process has the memory open.
  void begin() { word_->store(kLives); }
  [[nodiscard]] bool end() { return word_->fetch_and(~kLives) == kLives; }

  // The importer's calls. `open` fails if the memory was freed. `close` returns whether nobody owns
  // the bytes any more.
  [[nodiscard]] bool open();
  [[nodiscard]] bool close() { return word_->fetch_sub(1) == 1; }

 private:
  static constexpr std::uint64_t kLives = std::uint64_t{1} << 63;

  void* page_ = nullptr;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

// note_use_of() marks the file's bytes as in use, by a lock at `at` that lasts until the file's
// last descriptor and mapping are gone. is_used_elsewhere() returns whether the file was marked
// through another opening.
void note_use_of(int file, std::uint64_t at);
[[nodiscard]] bool is_used_elsewhere(int file, std::uint64_t at);

// The position of the words in the file, far beyond any device's memory. The file is sparse.
inline constexpr std::uint64_t kSlotsAt = std::uint64_t{1} << 45;
[[nodiscard]] constexpr std::uint64_t slot_of(std::uint64_t id) { return kSlotsAt + id * 8; }
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace vramscope::simulator
