// What exporter and importers of one allocation agree about, in a file that both can map.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace vramscope::simulator {

// One word: whether the allocation lives, and how many processes have it open. An importer that
// is killed stays counted: the bytes then stay until the exporter ends. Beside that each importer
// has a lock there, which ends with it.
// Threads: any.
class ExportSlot {
 public:
  // Maps the word of allocation `id` in the file of a device's memory.
  ExportSlot(int file, std::uint64_t id);
  ExportSlot(const ExportSlot&) = delete;
  ExportSlot& operator=(const ExportSlot&) = delete;
  ~ExportSlot();

  [[nodiscard]] bool ok() const { return word_ != nullptr; }

  // The exporter's calls. `end` says whether nobody has the memory open.
  void begin() { word_->store(kLives); }
  [[nodiscard]] bool end() { return word_->fetch_and(~kLives) == kLives; }

  // The importer's calls. `open` fails when the memory was freed; `close` says whether the bytes
  // belong to nobody now.
  [[nodiscard]] bool open();
  [[nodiscard]] bool close() { return word_->fetch_sub(1) == 1; }

 private:
  static constexpr std::uint64_t kLives = std::uint64_t{1} << 63;

  void* page_ = nullptr;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

// Notes on the open file, by a lock at `at`, that its bytes are in use, until the last descriptor
// and mapping of it is gone; and whether anybody has done that on another opening of the file.
void note_use_of(int file, std::uint64_t at);
[[nodiscard]] bool is_used_elsewhere(int file, std::uint64_t at);

// Where in the file the words are: far beyond any device's memory. The file is sparse.
inline constexpr std::uint64_t kSlotsAt = std::uint64_t{1} << 45;
[[nodiscard]] constexpr std::uint64_t slot_of(std::uint64_t id) { return kSlotsAt + id * 8; }
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace vramscope::simulator
