// Compares stacks, and decides which ones are worth learning.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/known_stacks.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "allocator/base/thread_buffer.h"
#include "reporter/record/stack/hash.h"
#include "reporter/record/stack/loaded_counts.h"

namespace vramscope {

namespace {

constexpr std::uint32_t kFirstPatience = 2;
constexpr std::uint32_t kMostPatience = 1 << 16;  // a walk of 30 us in so many stacks costs nothing
constexpr std::uint32_t kWorthwhile = 64;         // finds that pay for learning a stack

constexpr std::uintptr_t kPairBytes = 16;
constexpr std::uintptr_t pair_of(std::uintptr_t address) { return address & ~(kPairBytes - 1); }

// A bit in the position of a unit that has one word. Positions of words have this bit clear.
constexpr std::uint32_t kOneWord = 1;

}  // namespace

KnownStacks* KnownStacks::of_thread() noexcept {
  return thread_buffer::part_of<KnownStacks>(thread_buffer::get(),
                                             &thread_buffer::Parts::known_stacks);
}

KnownStacks::Set& KnownStacks::set_of(const Door& door) noexcept {
  return sets_[mix(kHashSeed, door.slot, door.return_address) % kSets];
}

// Lays out the content for the numbers of units and frames.
std::size_t KnownStacks::Known::lay_out() noexcept {
  const std::size_t count = units[static_cast<std::size_t>(StackPart::all)];
  const std::size_t depth = depths[static_cast<std::size_t>(StackPart::all)];
  const std::size_t where = 2 * sizeof(StackNote) + count * sizeof(Unit);
  const std::size_t frames = where + (count + 1) / 2 * 2 * sizeof(std::uint32_t);
  where_begins = static_cast<std::uint16_t>(where);
  frames_begin = static_cast<std::uint16_t>(frames);
  return (frames + depth * sizeof(std::uintptr_t) + alignof(Unit) - 1) & ~(alignof(Unit) - 1);
}

__attribute__((no_sanitize("address", "thread"))) inline bool KnownStacks::Known::holds(
    const Door& door, StackPart part, const std::byte* content) const noexcept {
  if (needs_frame_pointer && frame_pointer != door.frame_pointer) return false;
  // The stack is the thread's own, and the code that runs there now wrote these words.
  const std::size_t count = units[static_cast<std::size_t>(part)];
  const std::uintptr_t base = pair_of(slot);
  const auto word_at = [](std::uintptr_t address) {
    return *reinterpret_cast<const volatile std::uintptr_t*>(address);
  };
  const auto* then = reinterpret_cast<const Unit*>(content + 2 * sizeof(StackNote));
  const auto* where = reinterpret_cast<const std::uint32_t*>(content + where_begins);
  for (const auto* const end = then + count; then != end; ++then, ++where) {
    const std::uintptr_t first = base + *where;
    if ((first & kOneWord) != 0) {
      if (word_at(first - kOneWord) != then->words[0]) return false;
    } else if (word_at(first) != then->words[0] ||
               word_at(first + sizeof first) != then->words[1]) {
      return false;
    }
  }
  return true;
}

// Makes one unit of two words that are adjacent and follow each other.
void KnownStacks::Known::take_units(const Door& door, const Walked& walked, Units& taken) noexcept {
  const std::uintptr_t base = pair_of(door.slot);
  const auto few = static_cast<std::size_t>(StackPart::few);
  const std::size_t words_of_few = walked.count_of_few != 0 ? walked.count_of_few : walked.count;
  std::size_t count = 0;
  for (std::size_t i = 0; i < walked.count; ++i) {
    if (i == words_of_few) units[few] = static_cast<std::uint8_t>(count);
    const auto [address, value] = walked.words[i];
    const auto at = static_cast<std::uint32_t>(address - base);
    const auto at_pair = static_cast<std::uint32_t>(pair_of(at));
    const bool begins =
        count == 0 || i == words_of_few || pair_of(taken.where[count - 1]) != at_pair;
    if (begins) {
      taken.where[count] = at | kOneWord;
      taken.values[count++] = Unit{{value, 0}};
      continue;
    }
    std::uint32_t& where = taken.where[count - 1];
    const std::uint32_t known = where & ~kOneWord;
    if (known == at) continue;  // the same word again
    auto& words = taken.values[count - 1].words;
    if (where != at_pair)
      words = known == at_pair ? std::array{words[0], value} : std::array{value, words[0]};
    where = at_pair;
  }
  units[static_cast<std::size_t>(StackPart::all)] = static_cast<std::uint8_t>(count);
  if (words_of_few == walked.count) units[few] = static_cast<std::uint8_t>(count);
}

KnownStacks::Known* KnownStacks::find(const Door& door, StackPart part) noexcept {
  for (Known& known : set_of(door).ways) {
    if (known.slot != door.slot || known.return_address != door.return_address) continue;
    if (known.holds(door, part, content_of(known))) return &known;
  }
  return nullptr;
}

bool KnownStacks::find(const Door& door, StackPart part, Stack& stack) noexcept {
  if (++finds_ % kFindsBetweenChecks == 0) check_objects();
  Known* const known = find(door, part);
  if (known == nullptr) return false;
  ++known->finds;
  ++found_;
  const auto which = static_cast<std::size_t>(part);
  stack.depth = known->depths[which];
  stack.note = &notes_of(*known)[which];
  std::memcpy(stack.frames.data(), content_of(*known) + known->frames_begin,
              stack.depth * sizeof(std::uintptr_t));
  return true;
}

const StackNote* KnownStacks::find_note(const Door& door, StackPart part) noexcept {
  if ((finds_ + 1) % kFindsBetweenChecks == 0) return nullptr;  // find() must check the objects
  Known* const known = find(door, part);
  if (known == nullptr) return nullptr;
  ++finds_;
  ++known->finds;
  ++found_;
  return &notes_of(*known)[static_cast<std::size_t>(part)];
}

bool KnownStacks::should_learn(const Door& door, const Stack& stack) noexcept {
  Set& set = set_of(door);
  const std::uint64_t hash = stack.hash();
  const bool is_new = std::find(set.seen.begin(), set.seen.end(), hash) == set.seen.end();
  if (is_new) set.seen[set.next_seen++ % kWays] = hash;
  if (set.left != 0) --set.left;
  if (is_new || set.left != 0 || stack.depth == 0 || stack.depth > kMostFrames) return false;
  set.patience = std::clamp(set.patience * 2, kFirstPatience, kMostPatience);
  set.left = set.patience;
  return true;
}

// Contents lie one behind another. If there is no room behind the last one, all stacks are
// forgotten.
void KnownStacks::make_room(Known& known) noexcept {
  const std::size_t bytes = known.lay_out();
  if (bytes <= known.capacity) return;
  if (bytes > kContentBytes - used_) {
    forget_all();
    for (Set& set : sets_) {
      for (Known& other : set.ways) other.capacity = 0;
    }
    used_ = 0;
  }
  known.at = used_;
  known.capacity = static_cast<std::uint32_t>(bytes);
  used_ += known.capacity;
}

void KnownStacks::learn(const Door& door, Stack& stack, const Walked& walked) noexcept {
  Set& set = set_of(door);
  Known& known = set.ways[set.next_way++ % kWays];
  if (known.finds >= kWorthwhile) set.patience = set.left = kFirstPatience;
  known.slot = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // a signal handler may leave by longjmp
  known.return_address = door.return_address;
  known.frame_pointer = door.frame_pointer;
  known.needs_frame_pointer = walked.needs_frame_pointer;
  known.finds = 0;
  Units units;
  known.take_units(door, walked, units);
  const std::size_t depth = stack.depth;
  const auto all = static_cast<std::size_t>(StackPart::all);
  known.depths[all] = static_cast<std::uint8_t>(depth);
  make_room(known);
  std::byte* const content = content_of(known);
  std::memcpy(content + 2 * sizeof(StackNote), units.values.data(),
              known.units[all] * sizeof(Unit));
  std::memcpy(content + known.where_begins, units.where.data(),
              known.units[all] * sizeof(std::uint32_t));
  std::memcpy(content + known.frames_begin, stack.frames.data(), depth * sizeof(std::uintptr_t));
  for (const StackPart part : {StackPart::few, StackPart::all}) {
    const bool is_few = part == StackPart::few && walked.count_of_few != 0;
    const auto which = static_cast<std::size_t>(part);
    stack.depth = is_few ? kOwnerFrames : depth;
    known.depths[which] = static_cast<std::uint8_t>(stack.depth);
    notes_of(known)[which] = {.rest = {}, .tag = 0, .hash = stack.hash()};
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  known.slot = door.slot;
}

// A program that loads and unloads for ever pays for one pass over its known stacks each time.
void KnownStacks::check_objects() noexcept {
  const LoadedCounts now = count_loaded();
  if (now == loaded_) return;
  loaded_ = now;
  forget_all();
}

void KnownStacks::forget_all() noexcept {
  for (Set& set : sets_) {
    for (Known& known : set.ways) known.slot = 0;
  }
}

}  // namespace vramscope
